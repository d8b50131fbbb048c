//! Random steps, faults and crashes against the model.
//!
//! Whatever happens, the log holds the model's batches; a crash takes from the model only what
//! was never acknowledged as durable, and a kill takes nothing at all.

use std::time::Duration;

use highwater_runtime::task::{Either, first};
use highwater_runtime::{Kv, Runtime};
use highwater_sim_disk::{SimKv, Tear, stream};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use super::model::{Batch, Model};
use super::*;
use crate::AppendError;

struct Run {
    seed: u64,
    rng: ChaCha8Rng,
    rt: TestRuntime,
    kv: Option<SimKv>,
    log: TestLog,
    model: Model,
    checkpoint: Option<LogCheckpoint>,
    epoch: u32,
    now_ms: i64,
    /// The next sequence number by producer.
    sequences: [(i16, i32); 3],
    trace: Vec<String>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let rt = TestRuntime::with_sync_time(seed, Duration::from_millis(1));
        let kv = (seed % 2 == 0).then(|| rt.open_kv("index").expect("a new store"));
        let log = Log::create(&rt, kv.as_ref(), &name(), TOPIC, config(), NOW_MS).expect("new");
        Self {
            seed,
            rng: stream(seed, "ops"),
            rt,
            kv,
            log,
            model: Model::default(),
            checkpoint: None,
            epoch: 0,
            now_ms: NOW_MS,
            sequences: [(0, 0); 3],
            trace: Vec::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.next_u64() % limit
    }

    fn what(&self) -> String {
        let from = self.trace.len().saturating_sub(12);
        format!(
            "seed {}, after {}",
            self.seed,
            self.trace[from..].join(", ")
        )
    }

    fn step(&mut self) {
        self.now_ms += self.below(20) as i64;
        match self.below(100) {
            0..=54 => self.append(),
            55..=69 => self.sync(),
            70..=72 => self.roll(),
            73..=75 => self.delete_before(),
            76..=79 => self.retain(),
            80..=81 => self.truncate(),
            82..=84 => self.publish_checkpoint(),
            85..=86 => self.new_epoch(),
            87 => drop(self.log.release_idle()),
            88..=90 => self.kill(),
            91..=93 => self.power_loss(),
            94..=95 => self.power_loss_during_sync(),
            96 => self.fail_sync(),
            97 => self.fail_append(),
            98 => self.fill_disk(),
            _ => self.clean_stop(),
        }
    }

    fn next_batch(&mut self) -> (StagedBatch, Batch) {
        let count = 1 + self.below(4) as usize;
        let base = self.log.end().0;
        let values: Vec<String> = (0..count)
            .map(|at| {
                format!(
                    "v{}{}",
                    base + at as u64,
                    "x".repeat(self.below(60) as usize)
                )
            })
            .collect();
        let timestamp = self.now_ms - self.below(200) as i64;
        let producer = (self.below(2) == 0).then(|| {
            let id = self.below(3);
            let (epoch, sequence) = self.sequences[id as usize];
            (id as i64, epoch, sequence)
        });
        let wire = producer.map(|(id, epoch, base_sequence)| Producer {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
            base_sequence,
        });
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let staged = build(&texts, timestamp, wire);
        (
            staged,
            Batch {
                base,
                values,
                epoch: self.epoch,
                timestamp,
                producer,
            },
        )
    }

    fn append(&mut self) {
        let (mut staged, batch) = self.next_batch();
        let appended = self
            .log
            .append(&mut staged, LeaderEpoch(self.epoch), self.now_ms);
        match appended {
            Ok(appended) => {
                assert!(!appended.duplicate, "{}: {batch:?}", self.what());
                assert_eq!(appended.base.0, batch.base, "{}", self.what());
                self.trace.push(format!("append {}", batch.base));
                if let Some((id, epoch, first)) = batch.producer {
                    let next = first + batch.values.len() as i32;
                    self.sequences[id as usize] = (epoch, next);
                    self.append_again(&batch);
                }
                self.model.append(batch);
            }
            Err(error) => panic!("{}: {error}", self.what()),
        }
    }

    /// A retry of the batch that was just appended is recognised.
    fn append_again(&mut self, batch: &Batch) {
        let (id, epoch, base_sequence) = batch.producer.expect("the caller looked");
        let producer = Producer {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
            base_sequence,
        };
        let texts: Vec<&str> = batch.values.iter().map(String::as_str).collect();
        let mut again = build(&texts, batch.timestamp, Some(producer));
        let again = self
            .log
            .append(&mut again, LeaderEpoch(self.epoch), self.now_ms);
        let again = again.expect("a duplicate writes nothing");
        assert!(again.duplicate, "{}", self.what());
        assert_eq!(again.base.0, batch.base, "{}", self.what());
    }

    fn sync(&mut self) {
        let Some(job) = self.log.begin_sync() else {
            return;
        };
        let start = self.model.start;
        let done = self.rt.block_on(job.run()).expect("no fault is on");
        self.log.finish_sync(done);
        self.trace.push(format!("sync {}", self.log.synced().0));
        assert_eq!(self.log.synced(), self.log.end(), "{}", self.what());
        self.model.synced = self.log.synced().0;
        self.model.start_synced = self.model.start_synced.max(start);
    }

    fn roll(&mut self) {
        self.log.roll(self.now_ms).expect("no fault is on");
        self.trace.push("roll".to_owned());
    }

    fn delete_before(&mut self) {
        let span = self.model.end - self.model.start + 1;
        let to = self.model.start + self.below(span);
        self.log.delete_before(Offset(to)).expect("below the end");
        self.model.start = to;
        self.trace.push(format!("delete_before {to}"));
    }

    fn retain(&mut self) {
        let config = LogConfig {
            retention_bytes: (self.below(2) == 0).then_some(6000),
            retention_ms: (self.below(8) == 0).then_some(300),
            ..config()
        };
        self.log.reconfigure(config);
        let limit = Offset(self.model.synced);
        self.log.retain(limit, self.now_ms);
        assert!(
            self.log.start().0 <= self.model.synced.max(self.model.start),
            "{}",
            self.what()
        );
        self.model.start = self.log.start().0;
        self.trace.push(format!("retain from {}", self.model.start));
    }

    fn truncate(&mut self) {
        if self.model.start_synced < self.model.start || self.below(2) == 0 {
            return;
        }
        self.sync();
        let span = self.model.end - self.model.start + 1;
        let to = self.model.start + self.below(span);
        let end = self
            .log
            .truncate_to(Offset(to), self.now_ms)
            .expect("no fault is on");
        self.trace.push(format!("truncate {to}"));
        self.model.truncate(to);
        assert_eq!(end.0, self.model.end, "{}", self.what());
        self.forget_sequences();
        // Until it is durable a truncation may be undone: `crash.rs` looks at that.
        self.sync();
        self.publish_checkpoint();
    }

    fn publish_checkpoint(&mut self) {
        self.checkpoint = Some(self.log.checkpoint());
        self.trace.push("checkpoint".to_owned());
    }

    fn new_epoch(&mut self) {
        self.epoch += 1;
        self.log
            .become_leader(LeaderEpoch(self.epoch))
            .expect("newer than all");
        self.trace.push(format!("epoch {}", self.epoch));
    }

    fn reopen(&mut self, clean: bool) {
        self.kv = self
            .kv
            .take()
            .map(|_| self.rt.open_kv("index").expect("the store opens"));
        let options = OpenOptions {
            topic_id: TOPIC,
            config: config(),
            clean,
            checkpoint: self.checkpoint,
        };
        let exists = Log::exists(&self.rt, &name()).expect("no fault is on");
        let opened = if exists {
            Log::open(&self.rt, self.kv.as_ref(), &name(), options, self.now_ms)
        } else {
            let kv = self.kv.as_ref();
            let made = Log::create(&self.rt, kv, &name(), TOPIC, config(), self.now_ms);
            made.map(|log| (log, RecoveryReport::default()))
        };
        let (log, report) = opened.unwrap_or_else(|error| panic!("{}: {error}", self.what()));
        self.trace.push(format!("open ({report})"));
        self.log = log;
        assert_eq!(report.missing, None, "{}", self.what());
        assert_eq!(clean, report.clean, "{}", self.what());
        let what = self.what();
        self.model.crashed(&self.log, &what);
        self.forget_sequences();
        // A leader starts with a new epoch; cut records may have had the old one.
        self.epoch += 1;
        self.model.check(&self.log, &what);
    }

    /// Producers whose last batches are gone begin a new epoch, as their clients would.
    fn forget_sequences(&mut self) {
        for (epoch, sequence) in &mut self.sequences {
            *epoch += 1;
            *sequence = 0;
        }
    }

    fn kill(&mut self) {
        self.trace.push("kill".to_owned());
        let rt = self.rt.kill();
        self.rt = rt;
        let end = self.model.end;
        self.reopen(false);
        assert_eq!(self.model.end, end, "{}: a kill loses nothing", self.what());
    }

    fn power_loss(&mut self) {
        let unit = [1, 7, 64, 512, 4096][self.below(5) as usize];
        let keep_percent = self.below(101) as u32;
        self.trace.push(format!("power loss {unit} {keep_percent}"));
        self.rt = self.rt.power_loss(Tear { unit, keep_percent });
        self.reopen(false);
    }

    fn power_loss_during_sync(&mut self) {
        let Some(job) = self.log.begin_sync() else {
            return;
        };
        let moment = Duration::from_micros(1 + self.below(6000));
        let ended = self.rt.block_on(first(job.run(), self.rt.sleep(moment)));
        if let Either::First(done) = ended {
            self.log.finish_sync(done.expect("no fault is on"));
            self.model.synced = self.log.synced().0;
        }
        self.trace.push("during sync".to_owned());
        self.power_loss();
    }

    /// The next sync fails; the log goes offline and is opened again, or the process dies.
    fn fail_sync(&mut self) {
        let Some(job) = self.log.begin_sync() else {
            return;
        };
        self.rt.disk().set_faults(|faults| {
            faults.sync_fail_permille = 500;
            faults.sync_dir_fail_permille = 300;
        });
        let ended = self.rt.block_on(job.run());
        self.rt.disk().set_faults(|faults| {
            faults.sync_fail_permille = 0;
            faults.sync_dir_fail_permille = 0;
        });
        match ended {
            Ok(done) => {
                self.log.finish_sync(done);
                self.model.synced = self.log.synced().0;
            }
            Err(error) => {
                self.trace.push(format!("failed sync ({error})"));
                self.log.fail(error);
                match self.below(3) {
                    0 => {
                        self.checkpoint = Some(self.log.checkpoint());
                        self.reopen(false);
                    }
                    1 => self.kill(),
                    _ => self.power_loss(),
                }
            }
        }
    }

    /// An append fails halfway: its batch is not there, or whole if the disk took all of it.
    fn fail_append(&mut self) {
        let (mut staged, batch) = self.next_batch();
        self.rt.disk().fail_appends(1);
        let failed = self
            .log
            .append(&mut staged, LeaderEpoch(self.epoch), self.now_ms);
        self.rt.disk().fail_appends(0);
        assert!(
            matches!(failed, Err(AppendError::Failed(_))),
            "{}",
            self.what()
        );
        self.trace.push("failed append".to_owned());
        self.model.append(batch.clone());
        let rt = self.rt.kill();
        self.rt = rt;
        self.reopen(false);
        assert!(self.model.end >= batch.base, "{}", self.what());
    }

    fn fill_disk(&mut self) {
        self.rt.disk().set_free(0);
        let (mut staged, _) = self.next_batch();
        let refused = self
            .log
            .append(&mut staged, LeaderEpoch(self.epoch), self.now_ms);
        assert!(
            matches!(refused, Err(AppendError::Full(_))),
            "{}",
            self.what()
        );
        self.rt.disk().set_free(u64::MAX / 2);
        self.trace.push("full".to_owned());
    }

    fn clean_stop(&mut self) {
        self.sync();
        self.log.close();
        self.sync();
        while self.log.needs_sync() {
            self.sync();
        }
        self.publish_checkpoint();
        if let Some(kv) = &self.kv {
            self.rt.block_on(kv.sync()).expect("no fault is on");
        }
        self.trace.push("clean stop".to_owned());
        let rt = match self.below(2) {
            0 => self.rt.kill(),
            _ => self.rt.power_loss(Tear {
                unit: 512,
                keep_percent: 0,
            }),
        };
        self.rt = rt;
        self.reopen(true);
    }
}

/// A number from the environment: `LOG_FIRST` and `LOG_SEEDS` replay and widen the search.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that a person replays with a seed"
)]
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(default)
}

#[test]
fn whatever_happens_the_log_holds_what_the_model_holds() {
    for seed in number("LOG_FIRST", 0)..number("LOG_SEEDS", 80) {
        let mut run = Run::new(seed);
        for _ in 0..250 {
            run.step();
        }
        let what = run.what();
        run.model.check(&run.log, &what);
        let violations = run.rt.disk().take_violations();
        assert!(violations.is_empty(), "{what}: {violations:#?}");
    }
}
