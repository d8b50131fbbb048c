//! From a broker's exec to its first acknowledged record, and to an answer for every partition.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::LoadError;
use crate::batch;
use crate::client::{Client, resolve};
use crate::cluster::{LATEST, Led, leaders_now, offsets};
use crate::codec::Codec;
use crate::wire;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// What to wait for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the broker will listen.
    pub bootstrap: String,
    /// The topic to write one record to; made by the broker when it is missing.
    pub topic: String,
    /// Wait until every partition of the topic answers for its end, too.
    pub all_partitions: bool,
    /// Give up after this long.
    pub limit: Duration,
}

/// When what happened, since the start.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The port was open.
    pub connected: Duration,
    /// The first record was acknowledged.
    pub acknowledged: Duration,
    /// Every partition of the topic had answered.
    pub answered: Duration,
    /// Partitions of the topic.
    pub partitions: usize,
    /// Records in them before the first one of this load.
    pub records: i64,
}

/// Starts `command` in the background, its output to this process's standard error.
///
/// # Errors
/// [`LoadError::Io`] when it cannot be run.
pub fn spawn(command: &[String]) -> Result<Child, LoadError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(LoadError::Usage("a command to start is missing".to_owned()));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn();
    spawned.map_err(LoadError::io("start the broker"))
}

/// Waits for the broker; time counts from `start`.
///
/// # Errors
/// [`LoadError::TooLate`] after the limit.
pub fn wait(plan: &Plan, start: Instant) -> Result<Outcome, LoadError> {
    let address = resolve(&plan.bootstrap)?;
    let deadline = start + plan.limit;
    let until = |during: &'static str, attempt: &mut dyn FnMut() -> bool| loop {
        if attempt() {
            return Ok(start.elapsed());
        }
        if Instant::now() > deadline {
            return Err(LoadError::TooLate {
                during,
                seconds: plan.limit.as_secs(),
            });
        }
        std::thread::sleep(PAUSE);
    };
    let connected = until("an open port", &mut || Client::connect(address).is_ok())?;
    let mut led = Vec::new();
    let mut records = 0;
    let acknowledged = until("a first acknowledged record", &mut || {
        let Ok(found) = write_one(address, &plan.topic, &mut records) else {
            return false;
        };
        led = found;
        true
    })?;
    let answered = match plan.all_partitions {
        false => acknowledged,
        true => until("an answer for every partition", &mut || {
            offsets(&led, &plan.topic, LATEST).is_ok_and(|all| all.len() == led.len())
        })?,
    };
    Ok(Outcome {
        connected,
        acknowledged,
        answered,
        partitions: led.len(),
        records,
    })
}

/// Sends one record to the topic's first partition and waits for its acknowledgement.
fn write_one(address: SocketAddr, topic: &str, records: &mut i64) -> Result<Vec<Led>, LoadError> {
    let mut client = Client::connect(address)?;
    let led = leaders_now(&mut client, topic)?;
    let led = led.ok_or(LoadError::TooLate {
        during: "leaders",
        seconds: 0,
    })?;
    *records = offsets(&led[..1], topic, LATEST)?.values().sum();
    let batch = batch::encode(&[b"first"], Codec::None)?;
    let frame = wire::produce_frame(topic, led[0].partition, -1, &batch);
    let mut client = Client::connect(led[0].leader)?;
    client.send(&frame)?;
    let mut answer = Vec::new();
    client.receive(&mut answer)?;
    wire::read_produced(&answer)?;
    Ok(led)
}
