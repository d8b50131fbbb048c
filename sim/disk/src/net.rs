//! Connections in memory: bounded windows, delays, odd read sizes, resets, machines without power.
//!
//! Each machine has the address `10.0.0.N`; loopback names mean the machine itself.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use highwater_runtime::{Listener, Net, NetError};
use rand_chacha::ChaCha8Rng;

use crate::pipe::{End, SharedPipe, SimReader, SimWriter};
use crate::rng::{between, chance, stream};

/// Virtual time, as the network needs it.
pub trait Pace: Send + Sync + 'static {
    /// Time since the world began.
    fn now(&self) -> Duration;

    /// Ready after `duration`.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()>>>;
}

/// How the network delays and splits. The default does neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetFaults {
    /// The shortest time under way, in microseconds.
    pub delay_us_min: u64,
    /// The usual longest time under way, in microseconds.
    pub delay_us_max: u64,
    /// The chance in a thousand that a segment takes twenty times as long.
    pub slow_permille: u32,
    /// The chance in a thousand that a read gets only 1 to 64 bytes of what is there.
    pub short_read_permille: u32,
}

/// What all machines share.
#[derive(Clone)]
pub(crate) struct Fabric {
    pace: Arc<dyn Pace>,
    state: Arc<Mutex<FabricState>>,
}

struct FabricState {
    ports: BTreeMap<(u8, u16), Port>,
    /// Open connections by machine, both directions of each.
    pipes: Vec<(u8, u8, SharedPipe, SharedPipe)>,
    dark: BTreeMap<u8, bool>,
    faults: NetFaults,
    delay_rng: ChaCha8Rng,
    chunk_rng: ChaCha8Rng,
    next_port: u16,
    next_bind: u64,
}

impl FabricState {
    /// A port for a client, or for a listener that does not care.
    fn fresh_port(&mut self) -> u16 {
        self.next_port = self.next_port.checked_add(1).unwrap_or(40_000);
        self.next_port
    }
}

#[derive(Default)]
struct Port {
    /// Which bind this is: an old listener's drop must not unbind a new one.
    bind: u64,
    waiting: VecDeque<(SimReader, SimWriter, SocketAddr)>,
    acceptor: Option<Waker>,
}

impl Fabric {
    fn lock(&self) -> MutexGuard<'_, FabricState> {
        self.state
            .lock()
            .expect("no step on the network panics while it holds the lock")
    }

    pub fn now(&self) -> Duration {
        self.pace.now()
    }

    pub fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()>>> {
        self.pace.sleep(duration)
    }

    /// How long the next segment is under way.
    pub fn delay(&self) -> Duration {
        let mut guard = self.lock();
        let state = &mut *guard;
        let faults = state.faults;
        if faults.delay_us_max == 0 {
            return Duration::ZERO;
        }
        let mut us = between(
            &mut state.delay_rng,
            faults.delay_us_min,
            faults.delay_us_max,
        );
        if chance(&mut state.delay_rng, faults.slow_permille) {
            us *= 20;
        }
        Duration::from_micros(us)
    }

    /// How much the next read may get.
    pub fn chunk(&self) -> usize {
        let mut guard = self.lock();
        let state = &mut *guard;
        if chance(&mut state.chunk_rng, state.faults.short_read_permille) {
            return between(&mut state.chunk_rng, 1, 64) as usize;
        }
        usize::MAX
    }
}

/// The network as one machine sees it. Clones share it.
#[derive(Clone)]
pub struct SimNet {
    fabric: Fabric,
    machine: u8,
}

impl SimNet {
    /// A new network, seen by machine 1.
    pub fn new(seed: u64, pace: Arc<dyn Pace>) -> Self {
        let state = FabricState {
            ports: BTreeMap::new(),
            pipes: Vec::new(),
            dark: BTreeMap::new(),
            faults: NetFaults::default(),
            delay_rng: stream(seed, "net.delay"),
            chunk_rng: stream(seed, "net.chunk"),
            next_port: 40_000,
            next_bind: 0,
        };
        Self {
            fabric: Fabric {
                pace,
                state: Arc::new(Mutex::new(state)),
            },
            machine: 1,
        }
    }

    /// The same network seen by machine `machine`, whose address is `10.0.0.machine`.
    pub fn machine(&self, machine: u8) -> Self {
        Self {
            fabric: self.fabric.clone(),
            machine,
        }
    }

    /// Changes how the network delays and splits.
    pub fn set_faults(&self, change: impl FnOnce(&mut NetFaults)) {
        change(&mut self.fabric.lock().faults);
    }

    /// Breaks every connection of this machine; both ends learn it at once.
    pub fn reset_connections(&self) {
        for (out, into) in self.own_pipes() {
            out.reset();
            into.reset();
        }
        self.forget_own_pipes();
    }

    /// The process on this machine dies: ports are free, connections are reset.
    pub fn kill(&self) {
        self.unbind_all();
        self.reset_connections();
    }

    /// The machine goes dark: its peers see silence until [`SimNet::power_on`].
    pub fn power_off(&self) {
        self.unbind_all();
        self.fabric.lock().dark.insert(self.machine, true);
        for (out, into) in self.own_pipes() {
            out.cut();
            into.cut();
        }
    }

    /// The machine is back and resets what it does not know.
    pub fn power_on(&self) {
        self.fabric.lock().dark.remove(&self.machine);
        let pipes = self.own_pipes();
        for (out, into) in pipes {
            out.restore();
            into.restore();
        }
        self.forget_own_pipes();
    }

    fn unbind_all(&self) {
        let mut state = self.fabric.lock();
        let keys: Vec<_> = state
            .ports
            .keys()
            .filter(|k| k.0 == self.machine)
            .copied()
            .collect();
        let gone: Vec<Port> = keys
            .iter()
            .filter_map(|key| state.ports.remove(key))
            .collect();
        drop(state);
        // Dropped here: what waited to be accepted closes, which takes the lock again.
        drop(gone);
    }

    fn own_pipes(&self) -> Vec<(SharedPipe, SharedPipe)> {
        let state = self.fabric.lock();
        let own = state
            .pipes
            .iter()
            .filter(|p| p.0 == self.machine || p.1 == self.machine);
        own.map(|(_, _, out, into)| (out.clone(), into.clone()))
            .collect()
    }

    fn forget_own_pipes(&self) {
        let machine = self.machine;
        self.fabric
            .lock()
            .pipes
            .retain(|p| p.0 != machine && p.1 != machine);
    }

    /// Which machine and port `addr` means.
    fn resolve(&self, addr: &str) -> Result<(u8, u16), NetError> {
        let bad = || NetError::Failed(format!("{addr:?} is not host:port of a simulated machine"));
        let (host, port) = addr.rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().map_err(|_| bad())?;
        if host == "localhost" {
            return Ok((self.machine, port));
        }
        match host.parse::<IpAddr>().map_err(|_| bad())? {
            IpAddr::V4(ip) if ip.octets()[..3] == [10, 0, 0] => Ok((ip.octets()[3], port)),
            ip if ip.is_loopback() || ip.is_unspecified() => Ok((self.machine, port)),
            _ => Err(bad()),
        }
    }
}

fn address(machine: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, machine)), port)
}

/// A bound port of a [`SimNet`].
pub struct SimListener {
    fabric: Fabric,
    key: (u8, u16),
    bind: u64,
}

impl Net for SimNet {
    type Listener = SimListener;
    type Reader = SimReader;
    type Writer = SimWriter;

    async fn listen(&self, addr: &str) -> Result<SimListener, NetError> {
        let (_, asked) = self.resolve(addr)?;
        let mut state = self.fabric.lock();
        state.next_bind += 1;
        let bind = state.next_bind;
        let port = if asked == 0 {
            state.fresh_port()
        } else {
            asked
        };
        let key = (self.machine, port);
        if state.ports.contains_key(&key) {
            return Err(NetError::InUse);
        }
        state.ports.insert(
            key,
            Port {
                bind,
                ..Port::default()
            },
        );
        Ok(SimListener {
            fabric: self.fabric.clone(),
            key,
            bind,
        })
    }

    async fn connect(
        &self,
        addr: &str,
        limit: Duration,
    ) -> Result<(SimReader, SimWriter), NetError> {
        let key = self.resolve(addr)?;
        let delay = self.fabric.delay();
        if delay >= limit {
            self.fabric.sleep(limit).await;
            return Err(NetError::TimedOut);
        }
        self.fabric.sleep(delay).await;
        let is_dark = {
            let state = self.fabric.lock();
            state.dark.contains_key(&key.0) || state.dark.contains_key(&self.machine)
        };
        if is_dark {
            self.fabric.sleep(limit - delay).await;
            return Err(NetError::TimedOut);
        }
        let mut state = self.fabric.lock();
        let own = address(self.machine, state.fresh_port());
        let Some(port) = state.ports.get_mut(&key) else {
            return Err(NetError::Refused);
        };
        let (there, back) = (SharedPipe::default(), SharedPipe::default());
        let fabric = self.fabric.clone();
        let near = Arc::new(End {
            fabric: fabric.clone(),
            out: there.clone(),
            into: back.clone(),
        });
        let far = Arc::new(End {
            fabric,
            out: back.clone(),
            into: there.clone(),
        });
        port.waiting
            .push_back((SimReader(far.clone()), SimWriter(far), own));
        let acceptor = port.acceptor.take();
        state
            .pipes
            .retain(|(_, _, out, into)| !(out.is_closed() && into.is_closed()));
        state.pipes.push((self.machine, key.0, there, back));
        drop(state);
        if let Some(acceptor) = acceptor {
            acceptor.wake();
        }
        Ok((SimReader(near.clone()), SimWriter(near)))
    }
}

impl Listener for SimListener {
    type Reader = SimReader;
    type Writer = SimWriter;

    fn local_addr(&self) -> SocketAddr {
        address(self.key.0, self.key.1)
    }

    async fn accept(&mut self) -> Result<(SimReader, SimWriter, SocketAddr), NetError> {
        poll_fn(|cx| {
            let mut state = self.fabric.lock();
            let port = state
                .ports
                .get_mut(&self.key)
                .filter(|port| port.bind == self.bind);
            let Some(port) = port else {
                return Poll::Ready(Err(NetError::Closed));
            };
            if let Some(connection) = port.waiting.pop_front() {
                return Poll::Ready(Ok(connection));
            }
            port.acceptor = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        let mut state = self.fabric.lock();
        let bound = state
            .ports
            .get(&self.key)
            .is_some_and(|port| port.bind == self.bind);
        let gone = if bound {
            state.ports.remove(&self.key)
        } else {
            None
        };
        drop(state);
        drop(gone);
    }
}

impl std::fmt::Debug for SimNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimNet")
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SimListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimListener")
            .field("address", &self.local_addr())
            .finish_non_exhaustive()
    }
}
