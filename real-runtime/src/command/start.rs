//! `highwater start`: a broker until a signal ends it.

mod banner;
mod folder;
mod limits;
mod ready;
mod serve;
mod signals;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use highwater_broker::{Broker, BrokerConfig, StartError};
use highwater_log::DataDirError;
use highwater_metadata::StaticSettings;
use highwater_metadata::settings::{BrokerSettings, Layers, Listener as Address};
use highwater_runtime::{Listener, Net, NetError, Runtime};

use super::failure::{Failure, exit};
use super::topic::key_value;
use crate::disk::{OpenError, RealDisk};
use crate::net::{RealListener, RealNet};
use crate::runtime::{self, RealRuntime};
use crate::settings_file;
use folder::Folder;
use ready::ReadyFile;

const EXAMPLES: &str = "\
Examples:
  highwater start                                            data in ./highwater-data
  highwater start --kafka 0.0.0.0:9092 --advertised broker.example:9092
  highwater start --config highwater.toml -c num.partitions=8
  highwater start --ephemeral --kafka 127.0.0.1:0 --ready-file ready.json

Settings, lowest to highest: default, --config FILE, -c KEY=VALUE, the other flags. Kafka's names
of broker settings work; `highwater config default` lists all. SIGTERM or Ctrl-C stops cleanly, a
second one at once; kill -9 loses nothing that was acknowledged at durability=fsync.";

/// Bytes of producers' batches kept in memory for readers at the tail.
const TAIL_BYTES: usize = 64 * 1024 * 1024;

/// Arguments of `start`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArgs {
    /// The folder that holds everything [default: ./highwater-data].
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "ephemeral")]
    data_dir: Option<PathBuf>,
    /// Where to serve Kafka clients; port 0 picks a free one [default: 127.0.0.1:9092].
    #[arg(short, long, value_name = "HOST:PORT")]
    kafka: Option<String>,
    /// Where clients are told to connect [default: where the broker serves].
    #[arg(short, long, value_name = "HOST:PORT")]
    advertised: Option<String>,
    /// Write addresses and pid to this file as JSON when the broker is ready.
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Settings, as TOML.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting; may be given several times.
    #[arg(short, value_name = "KEY=VALUE", value_parser = key_value)]
    c: Vec<(String, String)>,
    /// Keep the data in a temporary folder that is removed at the end.
    #[arg(long)]
    ephemeral: bool,
}

/// Runs a broker until a signal ends it.
///
/// # Errors
/// See [`Failure`].
pub fn run(args: &StartArgs) -> Result<(), Failure> {
    let began = Instant::now();
    let settings = args.settings()?;
    let broker_settings = Layers::of_statics(&settings).broker_settings();
    let ready = args.ready_file.as_deref().map(ReadyFile::new).transpose()?;
    limits::raise_open_files();
    signals::explain_failing_maps();
    let folder = Folder::choose(args.ephemeral, &broker_settings.data_dir)?;
    let disk = RealDisk::open(folder.path()).map_err(open_failure)?;
    let runtime = RealRuntime::new(disk)
        .map_err(|error| Failure::failed(format!("the system gives no random bytes: {error}")))?;
    let started = Started {
        args,
        began,
        settings,
        broker_settings,
        runtime,
        ready,
        folder: &folder,
    };
    runtime::on_core(started.run())
        .map_err(|error| Failure::failed(format!("the system gives no event loop: {error}")))?
}

impl StartArgs {
    /// The settings of file and flags, checked; every wrong one is named.
    fn settings(&self) -> Result<StaticSettings, Failure> {
        let file = match &self.config {
            Some(path) => {
                settings_file::placed(path).map_err(|error| Failure::usage(error.to_string()))?
            }
            None => Vec::new(),
        };
        let single = self
            .c
            .iter()
            .map(|(key, value)| (format!("-c {key}={value}"), key.clone(), value.clone()));
        let mut flags = Vec::new();
        let mut flag = |name: &str, key: &str, value: Option<String>| {
            flags.extend(value.map(|value| (name.to_owned(), key.to_owned(), value)));
        };
        flag("--kafka", "listeners", self.kafka.clone());
        flag(
            "--advertised",
            "advertised.listeners",
            self.advertised.clone(),
        );
        let folder = self
            .data_dir
            .as_ref()
            .map(|path| path.display().to_string());
        flag("--data-dir", "data_dir", folder);
        settings_file::check(&[file, single.collect(), flags]).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let all = "`highwater config default` lists every setting.";
            Failure::usage(format!("{}\n{all}", lines.join("\n")))
        })
    }
}

/// Everything that a start needs, once the folder is ours.
struct Started<'a> {
    args: &'a StartArgs,
    began: Instant,
    settings: StaticSettings,
    broker_settings: BrokerSettings,
    runtime: RealRuntime,
    ready: Option<ReadyFile>,
    folder: &'a Folder,
}

impl Started<'_> {
    async fn run(self) -> Result<(), Failure> {
        // Bound before recovery: a busy port is said before the folder is touched.
        let mut listeners = Vec::new();
        for address in &self.broker_settings.listeners {
            listeners.push(listen(self.runtime.net(), address).await?);
        }
        let advertised = self.advertised(&listeners);
        let config = BrokerConfig {
            settings: self.settings.clone(),
            advertised: advertised.clone(),
            tail_bytes: TAIL_BYTES,
        };
        let (broker, report) = Broker::start(self.runtime.clone(), config)
            .await
            .map_err(|error| start_failure(&error, self.folder))?;
        let bound: Vec<_> = listeners.iter().map(Listener::local_addr).collect();
        let mut signals = signals::Signals::new()?;
        let cores = serve::Cores::start(&broker, &self.runtime, listeners)?;
        if let Some(ready) = &self.ready {
            ready.write(bound.first().copied())?;
        }
        banner::print(&banner::Facts {
            folder: self.folder,
            cluster_id: broker.metadata().state().cluster_id().to_string(),
            durability: self.durability(),
            bound: &bound,
            advertised: &advertised,
            report: &report,
            ready_ms: self.began.elapsed().as_millis(),
            default_port: self.args.kafka.is_none(),
        })?;
        let name = signals.wait().await;
        let stopped = self.stop(&broker, cores, name, &mut signals).await;
        if let Some(ready) = &self.ready {
            ready.remove();
        }
        stopped
    }

    fn durability(&self) -> &'static str {
        use highwater_metadata::settings::Durability;
        let layers = Layers::of_statics(&self.settings);
        match layers.topic_settings(&Default::default()).durability {
            Durability::Fsync => "fsync before ack",
            Durability::Replicated => "ack from memory, flushed within an interval",
        }
    }

    /// Where clients are told to connect: as set, or where we serve. An address of every
    /// interface says nothing to a client: it gets this machine's name.
    fn advertised(&self, listeners: &[RealListener]) -> (String, u16) {
        let set = self.broker_settings.advertised_listeners.first();
        let bound = listeners.first().map(Listener::local_addr);
        let port = bound.map_or(0, |bound| bound.port());
        let address = set.or(self.broker_settings.listeners.first());
        let host = address
            .map(|address| address.host.clone())
            .unwrap_or_default();
        let host = match host.as_str() {
            "" | "0.0.0.0" | "::" => limits::host_name(),
            _ => host,
        };
        let port = match set.map_or(0, |set| set.port) {
            0 => port,
            set => set,
        };
        (host, port)
    }

    async fn stop(
        &self,
        broker: &Arc<Broker<RealRuntime>>,
        cores: serve::Cores,
        signal: &'static str,
        signals: &mut signals::Signals,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        banner::line(&format!(
            "{signal}: stopping. A second one stops at once, which loses nothing acknowledged."
        ));
        cores.accept_no_more();
        let stopped = tokio::select! {
            biased;
            stopped = broker.stop() => stopped,
            signal = signals.wait() => {
                return Err(Failure::failed(format!(
                    "{signal} again: stopped at once; the next start recovers the logs."
                )));
            }
        };
        cores.end();
        stopped.map_err(|error| {
            Failure::failed(format!(
                "the folder could not be marked clean: {error}. Nothing acknowledged is lost; \
                 the next start recovers the logs."
            ))
        })?;
        banner::line(&format!(
            "Stopped cleanly in {} ms.",
            began.elapsed().as_millis()
        ));
        Ok(())
    }
}

async fn listen(net: &RealNet, address: &Address) -> Result<RealListener, Failure> {
    let addr = address.addr();
    net.listen(&addr).await.map_err(|error| {
        let (why, fix) = match &error {
            NetError::InUse => (
                "the port is in use by another process".to_owned(),
                format!(
                    "Stop that process (`ss -ltnp 'sport = :{}'` names it), or choose another \
                     port with --kafka HOST:PORT (port 0 picks a free one)",
                    address.port
                ),
            ),
            NetError::Failed(why) if why.contains("Permission denied") => (
                "this user may not use the port".to_owned(),
                "Choose a port above 1023 with --kafka HOST:PORT, or give the binary the right \
                 (`setcap cap_net_bind_service=+ep`)"
                    .to_owned(),
            ),
            other => (
                other
                    .to_string()
                    .split(" (os error")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                "Choose an address of this machine with --kafka HOST:PORT".to_owned(),
            ),
        };
        Failure::failed(format!(
            "cannot serve Kafka clients on {addr}: {why}. {fix}."
        ))
    })
}

fn open_failure(error: OpenError) -> Failure {
    Failure::failed(error.to_string())
}

fn start_failure(error: &StartError, folder: &Folder) -> Failure {
    let (code, fix) = match error {
        StartError::DataDir(DataDirError::Foreign { .. }) => (
            exit::FAILED,
            "Choose an empty folder, or a folder of Highwater, with --data-dir",
        ),
        StartError::DataDir(DataDirError::Newer { .. }) => (
            exit::FAILED,
            "Start the newer release that wrote it, or choose another folder with --data-dir",
        ),
        StartError::DataDir(DataDirError::Damaged { .. }) => (
            exit::DAMAGED,
            "Restore the file from a copy; the logs beside it are untouched",
        ),
        StartError::DataDir(DataDirError::OtherNode { .. } | DataDirError::OtherCluster { .. }) => {
            (
                exit::FAILED,
                "Choose this broker's own folder with --data-dir, or set node.id",
            )
        }
        StartError::MetadataMissing { .. } => (exit::DAMAGED, "Nothing was changed"),
        StartError::Metadata(_) => (
            exit::DAMAGED,
            "Start the release that wrote it, or restore the file from a copy; the logs are untouched",
        ),
        StartError::DataDir(DataDirError::Disk(_)) | StartError::Disk(_) => (
            exit::FAILED,
            "Check the disk, and that this user may write the folder",
        ),
    };
    Failure {
        code,
        message: format!("cannot start in {}: {error}. {fix}.", folder.shown()),
    }
}
