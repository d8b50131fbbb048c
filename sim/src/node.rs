//! The broker's machine: its disk, its place on the network, its process, and its power switch.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use highwater_runtime::Disk;
use highwater_sim_disk::{DiskEvent, Faults, SimDisk, SimNet, Tear};

use crate::exec::{self, Machine};
use crate::latency::Device;
use crate::mutant::Mutant;
use crate::plan::Plan;
use crate::process;
use crate::runtime::{Marks, SimRuntime};
use crate::trace::{Event, Trace};

/// What the process is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Killed, or without power.
    Down,
    /// Recovering.
    Starting,
    /// Serving.
    Up,
    /// It ended of its own accord, and why.
    Ended(String),
}

/// The broker's machine. Clones share it.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {
    plan: Plan,
    net: SimNet,
    device: Device,
    trace: Trace,
    marks: Marks,
    disk: Mutex<SimDisk>,
    status: Mutex<Status>,
    stop: Mutex<bool>,
    offline: Mutex<bool>,
    machine: Mutex<Option<Machine>>,
}

impl Node {
    /// A machine with an empty disk; [`Node::start`] starts it.
    pub fn new(plan: Plan, net: SimNet, trace: Trace, marks: Marks) -> Self {
        let device = Device::new(plan.seed, plan.sync_mean);
        let disk = SimDisk::with_latency(plan.seed, device.latency());
        disk.set_faults(|faults: &mut Faults| {
            faults.write_back_permille = plan.write_back_permille;
            faults.phantom_sync = plan.mutant == Some(Mutant::NoFsync);
            faults.phantom_sync_dir = plan.mutant == Some(Mutant::NoDirSync);
            faults.silent_sync_failure = plan.mutant == Some(Mutant::IgnoreSyncError);
        });
        let observed = trace.clone();
        disk.observe(Arc::new(move |event: &DiskEvent<'_>| {
            let DiskEvent {
                op,
                path,
                at,
                len,
                ok,
            } = *event;
            observed.add(
                exec::now(),
                Event::Disk {
                    op,
                    path: path.into(),
                    at,
                    len,
                    ok,
                },
            );
        }));
        let inner = Inner {
            plan,
            net,
            device,
            trace,
            marks,
            disk: Mutex::new(disk),
            status: Mutex::new(Status::Down),
            stop: Mutex::new(false),
            offline: Mutex::new(false),
            machine: Mutex::new(None),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The device below the disk.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The disk, as the last process sees it.
    pub fn disk(&self) -> SimDisk {
        lock(&self.inner.disk).clone()
    }

    /// What the process is doing.
    pub fn status(&self) -> Status {
        lock(&self.inner.status).clone()
    }

    /// The network as this machine sees it.
    pub fn net(&self) -> &SimNet {
        &self.inner.net
    }

    fn say(&self, what: String) {
        self.inner
            .trace
            .add(exec::now(), Event::Broker(what.into()));
    }

    fn set(&self, status: Status) {
        self.say(format!("{status:?}"));
        *lock(&self.inner.status) = status;
    }

    /// Starts the process, which must not be running.
    pub fn start(&self) {
        self.inner.net.power_on();
        if lock(&self.inner.machine).is_some() {
            self.plant();
        }
        let mut machine = lock(&self.inner.machine);
        if let Some(machine) = &*machine {
            machine.restart();
            return;
        }
        let inner = self.inner.clone();
        *machine = Some(Machine::start("broker", move || {
            let node = Node {
                inner: inner.clone(),
            };
            async move { node.run().await }
        }));
    }

    /// Damages the disk between two lives of the process, if the plan says so.
    fn plant(&self) {
        let gone = match self.inner.plan.mutant {
            Some(Mutant::BitFlip) => false,
            Some(Mutant::SegmentGone) => true,
            _ => return,
        };
        let disk = self.disk().reboot();
        let folder = (0..4)
            .map(|partition| format!("t0-{partition}"))
            .find_map(|folder| {
                let names = disk.list(&folder).ok()?;
                let last = names
                    .into_iter()
                    .rfind(|entry| entry.name.ends_with(".msg"))?;
                (last.len > 300).then(|| (format!("{folder}/{}", last.name), last.len))
            });
        let Some((path, len)) = folder else { return };
        self.say(format!("mutant: {path} is damaged"));
        if gone {
            let _ = disk.remove(&path);
        } else {
            disk.corrupt(&path, len / 2, 3);
        }
    }

    /// One life of the process.
    async fn run(self) {
        self.set(Status::Starting);
        *lock(&self.inner.stop) = false;
        let disk = {
            let mut disk = lock(&self.inner.disk);
            *disk = disk.reboot();
            disk.clone()
        };
        let Inner {
            plan,
            net,
            trace,
            marks,
            ..
        } = &*self.inner;
        let runtime = SimRuntime::new(
            plan.seed,
            disk,
            net.clone(),
            plan.clock,
            plan.buggify,
            trace.clone(),
            marks.clone(),
        );
        let ended = process::run(&self, plan, runtime).await;
        self.inner.net.kill();
        self.set(Status::Ended(ended));
    }

    /// The process serves now.
    pub fn is_up(&self) {
        self.set(Status::Up);
    }

    /// Whether the last start left a partition offline: the operator must start it again.
    pub fn found_offline(&self, offline: bool) {
        *lock(&self.inner.offline) = offline;
    }

    /// Whether the last start left a partition offline.
    pub fn has_offline(&self) -> bool {
        *lock(&self.inner.offline)
    }

    /// The process says something.
    pub fn log(&self, line: String) {
        self.say(line);
    }

    /// Asks the process to stop cleanly.
    pub fn stop(&self) {
        *lock(&self.inner.stop) = true;
    }

    /// Whether the process was asked to stop.
    pub fn is_stopping(&self) -> bool {
        *lock(&self.inner.stop)
    }

    /// The process dies; the machine goes on.
    pub fn kill(&self) {
        self.machine_kill();
        self.disk().kill();
        self.inner.net.kill();
        self.set(Status::Down);
    }

    /// The machine loses power; what the disk keeps, `tear` says.
    pub fn power_loss(&self, tear: Tear) {
        self.machine_kill();
        self.disk().power_loss_with(tear);
        self.inner.net.power_off();
        self.set(Status::Down);
    }

    fn machine_kill(&self) {
        if let Some(machine) = &*lock(&self.inner.machine) {
            machine.kill();
        }
    }

    /// Waits until the process serves, at most `limit`. Says whether it does.
    pub async fn comes_up(&self, limit: Duration) -> bool {
        let until = exec::now() + limit;
        while exec::now() < until {
            match self.status() {
                Status::Up => return true,
                Status::Ended(_) => {
                    exec::sleep(Duration::from_millis(300)).await;
                    self.start();
                }
                Status::Down | Status::Starting => {}
            }
            exec::sleep(Duration::from_millis(20)).await;
        }
        self.status() == Status::Up
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("no step on the machine panics while it holds the lock")
}
