//! A blocking connection: cold requests by kafka-protocol's messages, hot frames as bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

use crate::LoadError;

/// How long a broker may stay silent before the load gives up.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// Answers larger than this are not a broker's: its fetch answers have limits.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;

/// One connection; requests go out one at a time.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    next_correlation: i32,
}

/// The first address that `host:port` names.
///
/// # Errors
/// [`LoadError::Usage`] when it names none.
pub fn resolve(address: &str) -> Result<SocketAddr, LoadError> {
    let mut found = address
        .to_socket_addrs()
        .map_err(LoadError::io("resolve the bootstrap"))?;
    found
        .next()
        .ok_or_else(|| LoadError::Usage(format!("{address} names no address")))
}

impl Client {
    /// Connects to `address`.
    ///
    /// # Errors
    /// [`LoadError::Io`] when nobody listens there.
    pub fn connect(address: SocketAddr) -> Result<Self, LoadError> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10))
            .map_err(LoadError::io("connect"))?;
        stream.set_nodelay(true).map_err(LoadError::io("connect"))?;
        stream
            .set_read_timeout(Some(SILENCE_LIMIT))
            .map_err(LoadError::io("connect"))?;
        Ok(Self {
            stream,
            next_correlation: 0,
        })
    }

    /// A second handle of the same connection, to read on one thread and write on another.
    ///
    /// # Errors
    /// [`LoadError::Io`] when descriptors have run out.
    pub fn share(&self) -> Result<Self, LoadError> {
        let stream = self
            .stream
            .try_clone()
            .map_err(LoadError::io("share a connection"))?;
        Ok(Self {
            stream,
            next_correlation: 0,
        })
    }

    /// Sends `request` in `version` and waits for its answer.
    ///
    /// # Errors
    /// [`LoadError::Io`], or [`LoadError::Malformed`] when the answer cannot be read.
    pub fn call<Q>(&mut self, request: &Q, version: i16) -> Result<Q::Response, LoadError>
    where
        Q: Request + HeaderVersion,
        Q::Response: HeaderVersion,
    {
        let malformed = |_| LoadError::Malformed {
            during: "a request",
            at: 0,
        };
        let header = RequestHeader::default()
            .with_request_api_key(Q::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.next_correlation)
            .with_client_id(Some(StrBytes::from_static_str("highwater-load")));
        self.next_correlation += 1;
        let mut frame = BytesMut::zeroed(4);
        header
            .encode(&mut frame, Q::header_version(version))
            .map_err(malformed)?;
        request.encode(&mut frame, version).map_err(malformed)?;
        let len = u32::try_from(frame.len() - 4).expect("a cold request is short");
        frame[..4].copy_from_slice(&len.to_be_bytes());
        self.send(&frame)?;
        let mut answer = Vec::new();
        self.receive(&mut answer)?;
        let mut answer = Bytes::from(answer);
        ResponseHeader::decode(&mut answer, Q::Response::header_version(version))
            .map_err(malformed)?;
        Q::Response::decode(&mut answer, version).map_err(malformed)
    }

    /// Sends one whole frame.
    ///
    /// # Errors
    /// [`LoadError::Io`].
    pub fn send(&mut self, frame: &[u8]) -> Result<(), LoadError> {
        self.stream
            .write_all(frame)
            .map_err(LoadError::io("send a request"))
    }

    /// Receives one frame without its length into `into`, replacing what it held.
    ///
    /// # Errors
    /// [`LoadError::Io`], also after [`SILENCE_LIMIT`].
    pub fn receive(&mut self, into: &mut Vec<u8>) -> Result<(), LoadError> {
        let mut len = [0; 4];
        self.stream
            .read_exact(&mut len)
            .map_err(LoadError::io("receive an answer"))?;
        into.resize(answer_len(len)?, 0);
        self.stream
            .read_exact(into)
            .map_err(LoadError::io("receive an answer"))
    }
}

/// The length of an answer, if a broker may send it.
///
/// # Errors
/// [`LoadError::Malformed`] when it is negative or past [`ANSWER_BYTES_MAX`].
pub fn answer_len(prefix: [u8; 4]) -> Result<usize, LoadError> {
    let len = usize::try_from(i32::from_be_bytes(prefix)).unwrap_or(usize::MAX);
    if len > ANSWER_BYTES_MAX {
        return Err(LoadError::Malformed {
            during: "an answer's length",
            at: 0,
        });
    }
    Ok(len)
}
