//! Power loss after every step of a script, and at every moment of its syncs.

use std::time::Duration;

use highwater_runtime::Runtime;
use highwater_runtime::task::{Either, first};
use highwater_sim_disk::Tear;

use super::*;

const TEARS: [Tear; 6] = [
    Tear {
        unit: 1,
        keep_percent: 50,
    },
    Tear {
        unit: 7,
        keep_percent: 80,
    },
    Tear {
        unit: 64,
        keep_percent: 50,
    },
    Tear {
        unit: 512,
        keep_percent: 50,
    },
    Tear {
        unit: 4096,
        keep_percent: 50,
    },
    Tear {
        unit: 512,
        keep_percent: 0,
    },
];

type Step = fn(&mut TestLog);

/// Every kind of step, with syncs between some of them.
const SCRIPT: [(&str, Step); 14] = [
    ("append", |log| {
        append(log, &["a", "b"]);
    }),
    ("sync", |_| {}),
    ("append to roll", |log| append_until_rolled(log, 1)),
    ("roll", |log| drop(log.roll(NOW_MS))),
    ("sync", |_| {}),
    ("producer", |log| {
        log.append(&mut batch_of(5, 0, 0, &["p"]), LeaderEpoch(1), NOW_MS)
            .expect("space");
    }),
    ("delete", |log| drop(log.delete_before(Offset(3)))),
    ("sync", |_| {}),
    ("truncate in the segment", |log| {
        log.append(&mut batch(&["x", "y"]), LeaderEpoch(1), NOW_MS)
            .expect("space");
        let to = Offset(log.end().0 - 1);
        log.truncate_to(to, NOW_MS).expect("no fault is on");
    }),
    ("retain", |log| {
        let limit = log.synced();
        log.retain(limit, NOW_MS);
    }),
    ("sync", |_| {}),
    ("retain", |log| {
        let limit = log.synced();
        log.retain(limit, NOW_MS);
    }),
    ("close", |log| log.close()),
    ("sync", |_| {}),
];

/// Runs the script up to step `steps`; its last sync ends with power loss after `moment`.
fn crash_at(seed: u64, steps: usize, moment: Duration, tear: Tear, with_checkpoint: bool) {
    let what = format!("seed {seed}, {steps} steps, {moment:?}, {tear:?}, {with_checkpoint}");
    let rt = TestRuntime::with_sync_time(seed, Duration::from_millis(1));
    let mut log = create(&rt);
    let mut checkpoint = None;
    let (mut synced, mut start) = (Offset(0), Offset(0));
    for (at, (kind, step)) in SCRIPT[..steps].iter().enumerate() {
        if *kind != "sync" {
            step(&mut log);
            synced = synced.min(log.end());
            continue;
        }
        let Some(job) = log.begin_sync() else {
            continue;
        };
        let start_of_job = log.start();
        let is_last = at + 1 == steps;
        let limit = if is_last {
            moment
        } else {
            Duration::from_secs(9)
        };
        match rt.block_on(first(job.run(), rt.sleep(limit))) {
            Either::First(done) => {
                log.finish_sync(done.expect("no fault is on"));
                (synced, start) = (log.synced(), start_of_job);
                checkpoint = Some(log.checkpoint());
            }
            Either::Second(()) => {}
        }
    }
    let before = records(&log);
    let end = log.end();
    drop(log);
    let violations = rt.disk().take_violations();
    assert!(violations.is_empty(), "{what}: {violations:?}");
    let rt = rt.power_loss(tear);
    if !Log::exists(&rt, &name()).expect("no fault is on") {
        assert_eq!(synced, Offset(0), "{what}: the folder is gone");
        return;
    }
    let checkpoint = checkpoint.filter(|_| with_checkpoint);
    let (log, report) = open(&rt, checkpoint, false);
    assert_eq!(report.missing, None, "{what}");
    assert!(
        log.end() >= synced && log.start() >= start,
        "{what}: {} {}",
        log.start(),
        log.end()
    );
    // A truncation that was not synced may be undone: those records are not the model's.
    let got = records_below(&log, log.end().min(end));
    for record in got
        .iter()
        .filter(|(offset, _)| before.iter().any(|(o, _)| o == offset))
    {
        assert!(
            before.contains(record),
            "{what}: {record:?} was never there"
        );
    }
    assert!(got.iter().filter(|(o, _)| *o < synced.0).count() as u64 >= synced.since(log.start()));
}

#[test]
fn power_loss_after_every_step_keeps_what_was_synced() {
    for steps in 0..=SCRIPT.len() {
        for (seed, tear) in (0..).zip(TEARS.iter().cycle().take(18)) {
            crash_at(seed, steps, Duration::from_secs(9), *tear, seed % 2 == 0);
        }
    }
}

#[test]
fn power_loss_at_every_moment_of_a_sync_keeps_what_was_synced_before() {
    for steps in 1..=SCRIPT.len() {
        if SCRIPT[steps - 1].0 != "sync" {
            continue;
        }
        for half_ms in 0..14 {
            let moment = Duration::from_micros(half_ms * 500 + 1);
            for (seed, tear) in (0..).zip(TEARS) {
                crash_at(seed, steps, moment, tear, seed % 2 == 0);
            }
        }
    }
}
