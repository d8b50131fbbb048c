//! A raw Kafka client: frames over the simulated network, pipelined, with limits on waiting.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use highwater_runtime::task::{Either, first};
use highwater_runtime::{Net, NetError, Reader, Writer};
use highwater_sim_disk::{SimNet, SimReader, SimWriter};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{
    Decodable, HeaderVersion, Request, StrBytes, encode_request_header_into_buffer,
};

use crate::exec;

/// Longest frame that this client takes.
const FRAME_BYTES_MAX: usize = 64 << 20;

/// An exchange that did not work out: what became of the request is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// The connection.
    Net(NetError),
    /// The peer said that it sends no more.
    Ended,
    /// No answer within the limit.
    TimedOut,
    /// The answer is not one to what was asked: a bug of the broker.
    Malformed(String),
}

/// One connection. Answers come in the order of the requests.
pub struct Client {
    reader: SimReader,
    writer: SimWriter,
    received: BytesMut,
    correlation: i32,
    name: StrBytes,
}

impl Client {
    /// Connects to the broker at `addr`, waiting at most `limit`.
    ///
    /// # Errors
    /// [`ClientError::Net`].
    pub async fn connect(
        net: &SimNet,
        addr: &str,
        name: &str,
        limit: Duration,
    ) -> Result<Self, ClientError> {
        let (reader, writer) = net.connect(addr, limit).await.map_err(ClientError::Net)?;
        let name = StrBytes::from_string(name.to_owned());
        Ok(Self {
            reader,
            writer,
            received: BytesMut::new(),
            correlation: 0,
            name,
        })
    }

    /// Sends a request; answers the number under which its answer comes.
    ///
    /// # Errors
    /// [`ClientError::Net`]; how much arrived is unknown.
    pub async fn send<R: Request>(
        &mut self,
        version: i16,
        request: &R,
        limit: Duration,
    ) -> Result<i32, ClientError> {
        self.correlation += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation)
            .with_client_id(Some(self.name.clone()));
        let mut frame = BytesMut::new();
        frame.put_u32(0);
        encode_request_header_into_buffer(&mut frame, &header).expect("our headers encode");
        request
            .encode(&mut frame, version)
            .expect("our requests encode");
        let len = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&len.to_be_bytes());
        let mut parts = vec![frame.freeze()];
        match first(self.writer.write_all(&mut parts), exec::sleep(limit)).await {
            Either::First(sent) => sent.map_err(ClientError::Net)?,
            Either::Second(()) => return Err(ClientError::TimedOut),
        }
        Ok(self.correlation)
    }

    /// The next answer, which must be the one numbered `correlation`.
    ///
    /// # Errors
    /// See [`ClientError`]; the connection is of no more use.
    pub async fn receive<R: Request>(
        &mut self,
        version: i16,
        correlation: i32,
        limit: Duration,
    ) -> Result<R::Response, ClientError> {
        let mut frame = match first(self.frame(), exec::sleep(limit)).await {
            Either::First(frame) => frame?,
            Either::Second(()) => return Err(ClientError::TimedOut),
        };
        let malformed = |why: String| ClientError::Malformed(format!("{:?}: {why}", key::<R>()));
        let header_version = R::Response::header_version(version);
        let header = ResponseHeader::decode(&mut frame, header_version)
            .map_err(|error| malformed(format!("bad header: {error}")))?;
        if header.correlation_id != correlation {
            let got = header.correlation_id;
            return Err(malformed(format!(
                "answer {got} came where {correlation} was due"
            )));
        }
        let response = R::Response::decode(&mut frame, version)
            .map_err(|error| malformed(format!("bad body: {error}")))?;
        if frame.has_remaining() {
            return Err(malformed(format!(
                "{} bytes after the body",
                frame.remaining()
            )));
        }
        Ok(response)
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// See [`ClientError`]; the connection is of no more use.
    pub async fn call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, ClientError> {
        let correlation = self.send(version, request, limit).await?;
        self.receive::<R>(version, correlation, limit).await
    }

    async fn frame(&mut self) -> Result<Bytes, ClientError> {
        loop {
            if self.received.len() >= 4 {
                let len = (&self.received[..4]).get_u32() as usize;
                if len > FRAME_BYTES_MAX {
                    return Err(ClientError::Malformed(format!("a frame of {len} bytes")));
                }
                if self.received.len() >= 4 + len {
                    self.received.advance(4);
                    return Ok(self.received.split_to(len).freeze());
                }
                self.received.reserve(4 + len - self.received.len());
            } else {
                self.received.reserve(1024);
            }
            if self
                .reader
                .read(&mut self.received)
                .await
                .map_err(ClientError::Net)?
                == 0
            {
                return Err(ClientError::Ended);
            }
        }
    }
}

fn key<R: Request>() -> ApiKey {
    ApiKey::try_from(R::KEY).expect("every request has a key")
}
