//! The broker's process: the one place that knows how a broker is started and stopped.

use std::sync::Arc;
use std::time::Duration;

use highwater_broker::{Broker, BrokerConfig};
use highwater_metadata::StaticSettings;
use highwater_metadata::settings::SettingsLimits;
use highwater_runtime::{Net, Runtime};

use crate::exec;
use crate::node::Node;
use crate::plan::Plan;
use crate::runtime::SimRuntime;

/// The folder of the broker's key store.
pub const KV_FOLDER: &str = "index";

const PORT: u16 = 9092;

/// One life of a broker; answers why it ended.
pub async fn run(node: &Node, plan: &Plan, runtime: SimRuntime) -> String {
    let (broker, report) = match Broker::start(runtime.clone(), config(plan)).await {
        Ok(started) => started,
        Err(error) => return format!("cannot start: {error}"),
    };
    node.log(format!("recovered: {report:?}"));
    node.found_offline(!report.offline.is_empty());
    let listener = match runtime.net().listen(&format!("0.0.0.0:{PORT}")).await {
        Ok(listener) => listener,
        Err(error) => return format!("cannot listen: {error}"),
    };
    runtime.spawn(
        "serve",
        Arc::clone(&broker).serve(runtime.clone(), listener),
    );
    node.is_up();
    while !node.is_stopping() {
        exec::sleep(Duration::from_millis(20)).await;
    }
    match broker.stop().await {
        Ok(()) => "stopped cleanly".to_owned(),
        Err(error) => format!("stopped: {error}"),
    }
}

/// Settings that make rare things happen within seconds.
fn config(plan: &Plan) -> BrokerConfig {
    let flush = plan.flush.as_millis().to_string();
    let checkpoint = plan.checkpoint.as_millis().to_string();
    let pairs = [
        ("auto.create.topics.enable", "false"),
        ("offsets.topic.num.partitions", "2"),
        ("group.initial.rebalance.delay.ms", "0"),
        ("log.retention.check.interval.ms", "1000"),
        ("log.segment.delete.delay.ms", "1000"),
        ("log.flush.interval.ms", &flush),
        ("log.flush.offset.checkpoint.interval.ms", &checkpoint),
        ("log.index.interval.bytes", "256"),
    ];
    let settings = StaticSettings::parse(pairs, SettingsLimits::TINY);
    BrokerConfig {
        settings: settings.expect("the simulation's settings are valid"),
        advertised: ("10.0.0.1".to_owned(), PORT),
        tail_bytes: plan.tail_bytes,
    }
}
