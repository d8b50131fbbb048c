//! One seed from warm-up to verdict.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use highwater_sim_disk::{DiskCounts, SimNet};

use crate::check::{self, Evidence};
use crate::exec::{self, VirtualTime};
use crate::history::Failure;
use crate::mutant::Mutant;
use crate::nemesis::{self, Strikes};
use crate::node::Node;
use crate::plan::Plan;
use crate::runtime::Marks;
use crate::trace::{Event, Trace};
use crate::workload::{Phase, Workload};

/// Virtual time that no run needs.
const VIRTUAL_LIMIT: Duration = Duration::from_secs(600);

/// Real time without any event: the run hangs in a loop that virtual time cannot see.
const WALL_LIMIT: Duration = Duration::from_secs(30);

/// Real time that no run needs, however loaded the machine is.
const WALL_LIMIT_MAX: Duration = Duration::from_secs(600);

/// Virtual time for clients to finish what they began once the faults are over.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// How to run a seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Print every event as it happens.
    pub print: bool,
    /// A planted bug.
    pub mutant: Option<Mutant>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// What broke; `None` for a clean run.
    pub failure: Option<Failure>,
    /// When the run ended, in virtual time.
    pub virtual_time: Duration,
    /// The hash of the trace.
    pub hash: u64,
    /// Events in the trace.
    pub events: u64,
    /// The last events.
    pub last: Vec<String>,
    /// Faults that struck, by kind.
    pub strikes: Strikes,
    /// Rare events, by name.
    pub marks: BTreeMap<&'static str, u64>,
    /// What the disk counted.
    pub disk: DiskCounts,
    /// Records acknowledged.
    pub acked: u64,
    /// Records read by consumers during the run.
    pub read: u64,
}

/// Runs `seed` on a thread of its own.
pub fn run(seed: u64, options: Options) -> Outcome {
    let trace = Trace::new(options.print);
    let (done, verdict) = mpsc::channel();
    let inner = trace.clone();
    let panicked: Arc<Mutex<Option<String>>> = Arc::default();
    let message = panicked.clone();
    let builder = std::thread::Builder::new().name(format!("seed {seed}"));
    let thread = builder.spawn(move || {
        crate::panic::catch_into(message);
        let outcome = exec::run(seed, VIRTUAL_LIMIT, world(seed, options, inner));
        let _ = done.send(outcome);
    });
    let thread = thread.expect("the system has room for one more thread");
    match watch(&verdict, &trace) {
        Ok(mut outcome) => {
            let _ = thread.join();
            outcome.hash = trace.hash();
            outcome.events = trace.count();
            outcome.last = trace.last(40);
            outcome
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let _ = thread.join();
            let why = panicked.lock().expect("set once").take();
            let why = why.unwrap_or_else(|| "a panic without a message".to_owned());
            lost(seed, &trace, Failure::safety("nothing panics", why))
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let what = format!(
                "nothing happened for {WALL_LIMIT:?} of real time; the thread is left behind"
            );
            lost(seed, &trace, Failure::liveness("a run ends", what))
        }
    }
}

/// Waits for the outcome while events come.
fn watch(
    verdict: &mpsc::Receiver<Outcome>,
    trace: &Trace,
) -> Result<Outcome, mpsc::RecvTimeoutError> {
    let began = Instant::now();
    loop {
        let before = trace.count();
        match verdict.recv_timeout(WALL_LIMIT) {
            Err(mpsc::RecvTimeoutError::Timeout)
                if trace.count() > before && began.elapsed() < WALL_LIMIT_MAX => {}
            ended => return ended,
        }
    }
}

/// A run that could not tell its own outcome.
fn lost(seed: u64, trace: &Trace, failure: Failure) -> Outcome {
    Outcome {
        seed,
        failure: Some(failure),
        virtual_time: Duration::ZERO,
        hash: trace.hash(),
        events: trace.count(),
        last: trace.last(40),
        strikes: Strikes::new(),
        marks: BTreeMap::new(),
        disk: DiskCounts::default(),
        acked: 0,
        read: 0,
    }
}

async fn world(seed: u64, options: Options, trace: Trace) -> Outcome {
    let mut plan = Plan::draw(seed);
    plan.mutant = options.mutant;
    let marks = Marks::default();
    let net = SimNet::new(seed, Arc::new(VirtualTime));
    net.set_faults(|faults| {
        faults.delay_us_min = 50;
        faults.delay_us_max = 2_000;
        faults.slow_permille = plan.slow_net_permille;
        faults.short_read_permille = plan.short_read_permille;
    });
    trace.add(
        exec::now(),
        Event::Fault(format!("plan of seed {seed}: {plan:?}").into()),
    );
    let node = Node::new(plan.clone(), net.machine(1), trace.clone(), marks.clone());
    let workload = Workload::new(plan, net.machine(2), trace.clone());
    let judged = phases(&workload, &node).await;
    let (strikes, failure) = match judged {
        Ok((strikes, failure)) => (strikes, failure),
        Err(failure) => (Strikes::new(), Some(failure)),
    };
    if let Some(failure) = &failure {
        let what = format!("BROKEN: {}: {}", failure.property, failure.place);
        trace.add(exec::now(), Event::Fault(what.into()));
    }
    workload.phase.set(Phase::Done);
    let virtual_time = exec::now();
    let disk = node.disk().counts();
    // Everything that still runs ends now, or its memory stays for ever.
    node.kill();
    exec::sleep(Duration::from_secs(3)).await;
    let history = workload.history.borrow();
    Outcome {
        seed,
        failure,
        virtual_time,
        hash: 0,
        events: 0,
        last: Vec::new(),
        strikes,
        marks: marks.counts(),
        disk,
        acked: history.acked,
        read: history.records_read,
    }
}

/// Warm-up, faults, heal, liveness, checks.
async fn phases(
    workload: &Rc<Workload>,
    node: &Node,
) -> Result<(Strikes, Option<Failure>), Failure> {
    node.start();
    if !node.comes_up(Duration::from_secs(30)).await {
        let what = format!("{:?}", node.status());
        return Err(Failure::liveness("a broker starts on an empty disk", what));
    }
    workload.set_up().await?;
    workload.start();
    let strikes = nemesis::run(workload, node).await?;
    nemesis::heal(workload, node).await?;
    workload.phase.set(Phase::Drain);
    let until = exec::now() + DRAIN_LIMIT;
    while !workload.busy.borrow().is_empty() && exec::now() < until {
        exec::sleep(Duration::from_millis(50)).await;
    }
    let seen = workload.history.borrow().failures.first().cloned();
    if seen.is_some() {
        return Ok((strikes, seen));
    }
    let busy = workload.busy.borrow().clone();
    if !busy.is_empty() {
        let what = format!("{busy:?} not done {DRAIN_LIMIT:?} after the last fault");
        let property = "clients finish what they began once the faults are over";
        return Ok((strikes, Some(Failure::liveness(property, what))));
    }
    let finals = workload.read_back().await?;
    let history = workload.history.borrow();
    let evidence = Evidence {
        plan: &workload.plan,
        history: &history,
        finals: &finals,
    };
    let mut failures = history.failures.clone();
    failures.extend(check::all(&evidence));
    let violations = node.disk().take_violations();
    failures.extend(
        violations
            .into_iter()
            .map(|violation| Failure::safety("the broker keeps the rules of its disk", violation)),
    );
    Ok((strikes, failures.into_iter().next()))
}
