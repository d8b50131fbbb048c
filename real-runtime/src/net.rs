//! TCP by tokio, and one bound port shared by several cores.
//!
//! One core accepts and hands each connection to the core that holds the fewest; it stays there.
//! (The kernel's own sharing of a port may put every busy connection on one core.)

use std::io::{self, ErrorKind, IoSlice};
use std::net::{SocketAddr, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use highwater_runtime::{Listener, Net, NetError, Reader, Writer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::mpsc;

/// Connections that the kernel keeps for us while the accepting core is busy.
const BACKLOG: u32 = 4096;

/// Parts of one vectored write; the kernel takes 1,024, more than 64 gain nothing.
const PARTS_MAX: usize = 64;

/// The network of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealNet;

impl Net for RealNet {
    type Listener = RealListener;
    type Reader = RealReader;
    type Writer = RealWriter;

    async fn listen(&self, addr: &str) -> Result<RealListener, NetError> {
        let mut refused = NetError::Failed(format!("{addr:?} names no address"));
        for addr in lookup_host(addr).await.map_err(|error| net_error(&error))? {
            match bind(addr) {
                Ok(socket) => return Ok(socket),
                Err(error) => refused = net_error(&error),
            }
        }
        Err(refused)
    }

    async fn connect(
        &self,
        addr: &str,
        limit: Duration,
    ) -> Result<(RealReader, RealWriter), NetError> {
        let connect = TcpStream::connect(addr);
        let stream = tokio::time::timeout(limit, connect)
            .await
            .map_err(|_| NetError::TimedOut)?
            .map_err(|error| net_error(&error))?;
        halves(stream, None)
    }
}

fn bind(addr: SocketAddr) -> io::Result<RealListener> {
    let socket = if addr.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restart must not wait for the old connections' TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    let listener = socket.listen(BACKLOG)?;
    let addr = listener.local_addr()?;
    let source = Source::Port {
        listener,
        others: Vec::new(),
    };
    Ok(RealListener {
        addr,
        load: Load::default(),
        source,
    })
}

/// A bound port, or one core's share of it.
pub struct RealListener {
    addr: SocketAddr,
    load: Load,
    source: Source,
}

/// Live connections of one core.
type Load = Arc<AtomicUsize>;

enum Source {
    /// This core accepts, for the others too.
    Port {
        listener: TcpListener,
        others: Vec<Share>,
    },
    /// Another core accepts for this one.
    Handed(mpsc::UnboundedReceiver<(StdStream, SocketAddr)>),
}

struct Share {
    load: Load,
    sender: mpsc::UnboundedSender<(StdStream, SocketAddr)>,
}

impl RealListener {
    /// Shares the port over `cores` cores: one listener each, the first for the core that called
    /// [`Net::listen`]. The others get connections only while the first one's `accept` is called.
    ///
    /// # Panics
    /// When this is already a share.
    #[must_use]
    pub fn split(mut self, cores: usize) -> Vec<Self> {
        let Source::Port { others, .. } = &mut self.source else {
            panic!("a share of a port cannot be split again");
        };
        let mut rest = Vec::new();
        for _ in 1..cores {
            let (sender, receiver) = mpsc::unbounded_channel();
            let load = Load::default();
            others.push(Share {
                load: Arc::clone(&load),
                sender,
            });
            rest.push(Self {
                addr: self.addr,
                load,
                source: Source::Handed(receiver),
            });
        }
        rest.insert(0, self);
        rest
    }
}

impl Listener for RealListener {
    type Reader = RealReader;
    type Writer = RealWriter;

    fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    async fn accept(&mut self) -> Result<(RealReader, RealWriter, SocketAddr), NetError> {
        loop {
            let (stream, peer) = match &mut self.source {
                Source::Port { listener, others } => {
                    let (stream, peer) = accept_one(listener).await?;
                    if let Some(share) = lighter(others, &self.load) {
                        share.hand(stream, peer);
                        continue;
                    }
                    self.load.fetch_add(1, Ordering::Relaxed);
                    (Ok(stream), peer)
                }
                Source::Handed(inbox) => {
                    let (stream, peer) = inbox.recv().await.ok_or(NetError::Closed)?;
                    (TcpStream::from_std(stream), peer)
                }
            };
            let counted = Counted(Arc::clone(&self.load));
            let Ok(stream) = stream else {
                // This core's event loop has no room for it; the peer sees a closed connection.
                return Err(NetError::Exhausted);
            };
            // A connection that broke meanwhile is the peer's affair: take the next one.
            if let Ok((reader, writer)) = halves(stream, Some(Arc::new(counted))) {
                return Ok((reader, writer, peer));
            }
        }
    }
}

async fn accept_one(listener: &TcpListener) -> Result<(TcpStream, SocketAddr), NetError> {
    loop {
        match listener.accept().await {
            Ok(accepted) => return Ok(accepted),
            // The peer hung up before we looked; the port is fine.
            Err(error) if is_peers_fault(&error) => {}
            Err(error) => return Err(net_error(&error)),
        }
    }
}

/// The core with the fewest connections, if it has fewer than this one.
fn lighter<'a>(others: &'a mut Vec<Share>, own: &Load) -> Option<&'a Share> {
    // A core that has ended takes no more connections.
    others.retain(|share| !share.sender.is_closed());
    let least = others
        .iter()
        .min_by_key(|share| share.load.load(Ordering::Relaxed))?;
    (least.load.load(Ordering::Relaxed) < own.load(Ordering::Relaxed)).then_some(least)
}

impl Share {
    /// Gives the connection to this share's core. One that ends right now drops it, and the peer
    /// sees what it would see a moment later: a closed connection.
    fn hand(&self, stream: TcpStream, peer: SocketAddr) {
        let Ok(stream) = stream.into_std() else {
            return;
        };
        // Counted here already: a burst must not go to one core while that core is busy.
        self.load.fetch_add(1, Ordering::Relaxed);
        if self.sender.send((stream, peer)).is_err() {
            self.load.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts one connection of a core for as long as either half lives.
struct Counted(Load);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn halves(
    stream: TcpStream,
    counted: Option<Arc<Counted>>,
) -> Result<(RealReader, RealWriter), NetError> {
    stream
        .set_nodelay(true)
        .map_err(|error| net_error(&error))?;
    let (reader, writer) = stream.into_split();
    let reader = RealReader {
        stream: reader,
        _counted: counted.clone(),
    };
    Ok((
        reader,
        RealWriter {
            stream: writer,
            _counted: counted,
        },
    ))
}

/// The receiving half of a TCP connection.
pub struct RealReader {
    stream: OwnedReadHalf,
    _counted: Option<Arc<Counted>>,
}

impl Reader for RealReader {
    async fn readable(&mut self) -> Result<(), NetError> {
        self.stream
            .readable()
            .await
            .map_err(|error| net_error(&error))
    }

    async fn read(&mut self, into: &mut BytesMut) -> Result<usize, NetError> {
        assert!(into.capacity() > into.len(), "a read needs room");
        self.stream
            .read_buf(into)
            .await
            .map_err(|error| net_error(&error))
    }
}

/// The sending half of a TCP connection.
pub struct RealWriter {
    stream: OwnedWriteHalf,
    _counted: Option<Arc<Counted>>,
}

impl Writer for RealWriter {
    async fn write_all(&mut self, parts: &mut Vec<Bytes>) -> Result<(), NetError> {
        let mut first = 0;
        loop {
            while parts.get(first).is_some_and(Bytes::is_empty) {
                first += 1;
            }
            if first == parts.len() {
                parts.clear();
                return Ok(());
            }
            match self.try_write(&parts[first..]) {
                Ok(0) => return Err(NetError::Closed),
                Ok(written) => first += advance(&mut parts[first..], written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stream
                        .writable()
                        .await
                        .map_err(|error| net_error(&error))?;
                }
                Err(error) => return Err(net_error(&error)),
            }
        }
    }

    async fn shutdown(&mut self) -> Result<(), NetError> {
        let done = self.stream.shutdown().await;
        done.map_err(|error| net_error(&error))
    }
}

impl RealWriter {
    fn try_write(&self, parts: &[Bytes]) -> io::Result<usize> {
        if let [one] = parts {
            return self.stream.try_write(one);
        }
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let count = parts.len().min(PARTS_MAX);
        for (slice, part) in slices.iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        self.stream.try_write_vectored(&slices[..count])
    }
}

/// Takes `written` bytes off the front of `parts`; answers how many parts are done.
fn advance(parts: &mut [Bytes], mut written: usize) -> usize {
    let mut done = 0;
    for part in parts {
        if written < part.len() {
            part.advance(written);
            break;
        }
        written -= part.len();
        // Give its memory back now: the rest may wait long for a slow peer.
        *part = Bytes::new();
        done += 1;
    }
    done
}

/// Failures of `accept` that speak of the connection, not of the port. Source: accept(2).
fn is_peers_fault(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::EINTR
                | libc::EPROTO
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::EHOSTDOWN
                | libc::ENOPROTOOPT
                | libc::EPERM
        )
    )
}

/// The engine's word for a socket error.
fn net_error(error: &io::Error) -> NetError {
    if let Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) = error.raw_os_error() {
        return NetError::Exhausted;
    }
    match error.kind() {
        ErrorKind::AddrInUse => NetError::InUse,
        ErrorKind::ConnectionRefused => NetError::Refused,
        ErrorKind::TimedOut => NetError::TimedOut,
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof => NetError::Closed,
        _ => NetError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_are_spread_evenly_and_refilled_where_they_end() {
        let listener = RealNet.listen("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr();
        let shares = listener.split(3);
        let loads: Vec<Load> = shares.iter().map(|share| Arc::clone(&share.load)).collect();
        let (tell, mut told) = mpsc::unbounded_channel();
        let cores = tokio::task::LocalSet::new();
        for (core, mut share) in shares.into_iter().enumerate() {
            let tell = tell.clone();
            cores.spawn_local(async move {
                while let Ok((reader, writer, _)) = share.accept().await {
                    let _ = tell.send((core, reader, writer));
                }
            });
        }
        let now = || -> Vec<usize> {
            loads
                .iter()
                .map(|load| load.load(Ordering::Relaxed))
                .collect()
        };
        let check = async {
            let (mut clients, mut served) = (Vec::new(), Vec::new());
            for _ in 0..9 {
                clients.push(TcpStream::connect(addr).await.expect("somebody listens"));
                served.push(told.recv().await.expect("the cores accept"));
            }
            assert_eq!(now(), [3, 3, 3]);
            served.retain(|(core, ..)| *core != 1);
            assert_eq!(now(), [3, 0, 3]);
            clients.push(TcpStream::connect(addr).await.expect("somebody listens"));
            let (core, ..) = told.recv().await.expect("the cores accept");
            assert_eq!(core, 1, "the next one goes to the core with the fewest");
        };
        cores.run_until(check).await;
    }
}
