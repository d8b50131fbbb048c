//! Streams of bytes between processes, as TCP gives them.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

/// The network. Clones share it.
pub trait Net: Clone + Send + Sync + 'static {
    /// A bound port.
    type Listener: Listener<Reader = Self::Reader, Writer = Self::Writer>;
    /// The receiving half of a connection.
    type Reader: Reader;
    /// The sending half of a connection.
    type Writer: Writer;

    /// Binds `addr` (`host:port`; port 0 picks a free one).
    ///
    /// # Errors
    /// [`NetError::InUse`] when another process has the port. Others: see [`NetError`].
    fn listen(&self, addr: &str) -> impl Future<Output = Result<Self::Listener, NetError>>;

    /// Connects to `addr` (`host:port`), waiting at most `limit`.
    ///
    /// # Errors
    /// See [`NetError`].
    fn connect(
        &self,
        addr: &str,
        limit: Duration,
    ) -> impl Future<Output = Result<(Self::Reader, Self::Writer), NetError>>;
}

/// A bound port.
pub trait Listener: 'static {
    /// The receiving half of a connection.
    type Reader: Reader;
    /// The sending half of a connection.
    type Writer: Writer;

    /// The bound address, with the port that was picked.
    fn local_addr(&self) -> SocketAddr;

    /// The next connection, with the peer's address.
    ///
    /// # Errors
    /// [`NetError::Exhausted`]: wait a little and accept again. Others: the port is gone.
    fn accept(
        &mut self,
    ) -> impl Future<Output = Result<(Self::Reader, Self::Writer, SocketAddr), NetError>>;
}

/// The receiving half of a connection. Dropping both halves closes it.
pub trait Reader: 'static {
    /// Ready when [`Reader::read`] would not wait. Holds no buffer: an idle connection costs none.
    ///
    /// # Errors
    /// [`NetError::Closed`] when the connection broke.
    fn readable(&mut self) -> impl Future<Output = Result<(), NetError>>;

    /// Appends what has arrived to `into`, at most its spare capacity, which must not be 0;
    /// waits for a first byte. 0 means that the peer will send no more.
    ///
    /// # Errors
    /// [`NetError::Closed`] when the connection broke.
    fn read(&mut self, into: &mut BytesMut) -> impl Future<Output = Result<usize, NetError>>;
}

/// The sending half of a connection. Dropping both halves closes it.
pub trait Writer: 'static {
    /// Sends the parts, one after the other, and takes them out of `parts`. Waits while the peer
    /// does not read. Includes the flush.
    ///
    /// # Errors
    /// [`NetError::Closed`] when the connection broke; how much arrived is unknown.
    fn write_all(&mut self, parts: &mut Vec<Bytes>) -> impl Future<Output = Result<(), NetError>>;

    /// Says that no more will be sent; the peer's reads then answer 0.
    ///
    /// # Errors
    /// [`NetError::Closed`] when the connection broke before.
    fn shutdown(&mut self) -> impl Future<Output = Result<(), NetError>>;
}

/// A network that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetError {
    /// Another process listens there.
    InUse,
    /// Nobody listens there.
    Refused,
    /// No answer within the limit.
    TimedOut,
    /// The connection broke.
    Closed,
    /// This process or machine has no descriptor or memory left for a connection.
    Exhausted,
    /// Another reason; the text says which.
    Failed(String),
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str("the address is in use by another process"),
            Self::Refused => f.write_str("nobody listens there"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Closed => f.write_str("the connection broke"),
            Self::Exhausted => f.write_str("no descriptor or memory is left for a connection"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NetError {}
