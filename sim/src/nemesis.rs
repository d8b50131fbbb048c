//! Carries out the plan's faults, one after the other, and heals everything at the end.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::exec;
use crate::history::Failure;
use crate::node::{Node, Status};
use crate::plan::{Fault, Strike};
use crate::trace::Event;
use crate::workload::Workload;

/// Longest time from the end of the faults until the broker serves.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How often each kind of fault struck.
pub type Strikes = BTreeMap<&'static str, u64>;

/// Strikes as the plan says until the safety phase is over.
///
/// # Errors
/// A liveness failure when a process without faults does not start.
pub async fn run(workload: &Rc<Workload>, node: &Node) -> Result<Strikes, Failure> {
    let mut strikes = Strikes::new();
    let until = exec::now() + workload.plan.safety;
    for Strike { after, fault } in &workload.plan.strikes {
        wait(node, *after, until).await;
        if exec::now() >= until {
            break;
        }
        *strikes.entry(fault.kind()).or_default() += 1;
        workload
            .trace
            .add(exec::now(), Event::Fault(format!("{fault:?}").into()));
        strike(workload, node, fault).await;
    }
    wait(node, until.saturating_sub(exec::now()), until).await;
    Ok(strikes)
}

/// Lets time pass; a process that ended of its own accord is started again.
async fn wait(node: &Node, time: Duration, until: Duration) {
    let until = until.min(exec::now() + time);
    while exec::now() < until {
        if let Status::Ended(_) = node.status() {
            exec::sleep(Duration::from_millis(100)).await;
            node.start();
        }
        let left = until.saturating_sub(exec::now());
        exec::sleep(left.min(Duration::from_millis(50))).await;
    }
}

async fn strike(workload: &Rc<Workload>, node: &Node, fault: &Fault) {
    match fault {
        Fault::Kill { down } => {
            node.kill();
            exec::sleep(*down).await;
            node.start();
        }
        Fault::Power { down, tear } => {
            node.power_loss(*tear);
            workload.history.borrow_mut().power_losses.push(exec::now());
            exec::sleep(*down).await;
            node.start();
        }
        Fault::Stop { down } => {
            node.stop();
            let until = exec::now() + Duration::from_secs(10);
            while !matches!(node.status(), Status::Ended(_)) && exec::now() < until {
                exec::sleep(Duration::from_millis(20)).await;
            }
            exec::sleep(*down).await;
            if !matches!(node.status(), Status::Ended(_)) {
                node.kill();
            }
            node.start();
        }
        Fault::CorruptKv => {
            node.kill();
            node.disk().corrupt_kv(crate::process::KV_FOLDER);
            exec::sleep(Duration::from_millis(50)).await;
            node.start();
        }
        Fault::FailSyncs { count } => {
            workload.history.borrow_mut().failed_syncs.push(exec::now());
            node.disk().fail_syncs(*count);
        }
        Fault::FailReads { count } => node.disk().fail_reads(*count),
        Fault::Stall { lasts } => {
            node.device().stall(*lasts);
            wait(node, *lasts, Duration::MAX).await;
        }
        Fault::Slow { mean, lasts } => {
            node.device().set_mean(*mean);
            wait(node, *lasts, Duration::MAX).await;
            node.device().set_mean(workload.plan.sync_mean);
        }
        Fault::Full { free, lasts } => {
            node.disk().set_free(*free);
            wait(node, *lasts, Duration::MAX).await;
            node.disk().set_faults(|faults| faults.capacity = u64::MAX);
        }
        Fault::Reset => node.net().reset_connections(),
    }
}

/// Ends every fault and waits for the broker to serve.
///
/// # Errors
/// A liveness failure when it does not.
pub async fn heal(workload: &Rc<Workload>, node: &Node) -> Result<(), Failure> {
    workload
        .trace
        .add(exec::now(), Event::Fault("all faults end".into()));
    node.device().heal(workload.plan.sync_mean);
    node.net().set_faults(|faults| {
        faults.slow_permille = 0;
        faults.short_read_permille = 0;
    });
    let disk = node.disk();
    disk.fail_syncs(0);
    disk.fail_reads(0);
    disk.set_faults(|faults| faults.capacity = u64::MAX);
    let mut up = node.comes_up(START_LIMIT).await;
    if up && node.has_offline() {
        // What a start could not read stays offline until the operator starts the broker again.
        node.kill();
        node.start();
        up = node.comes_up(START_LIMIT).await;
    }
    if up {
        return Ok(());
    }
    let what = format!("{:?} after {START_LIMIT:?} without faults", node.status());
    Err(Failure::liveness(
        "the broker starts once the faults are over",
        what,
    ))
}
