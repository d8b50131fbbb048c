//! One connection: frames out and in, versions as the broker states them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

use super::{ClientError, TIMEOUT};

/// No answer that this client asks for is larger; a larger claim is not Kafka.
const FRAME_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The newest ApiVersions request that this client speaks.
const API_VERSIONS_MAX: i16 = 3;

/// A connection to one broker.
pub struct Connection {
    addr: String,
    stream: TcpStream,
    correlation_id: i32,
    /// The versions that the broker serves, by API key.
    served: BTreeMap<i16, (i16, i16)>,
}

impl Connection {
    /// Connects and asks for the broker's versions.
    pub(super) fn open(addr: &str) -> Result<Self, ClientError> {
        let stream = dial(addr).map_err(|error| ClientError::Connect {
            addr: addr.to_owned(),
            why: reason(&error),
        })?;
        let mut connection = Self {
            addr: addr.to_owned(),
            stream,
            correlation_id: 0,
            served: BTreeMap::new(),
        };
        connection.learn_versions()?;
        Ok(connection)
    }

    fn learn_versions(&mut self) -> Result<(), ClientError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("highwater"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let mut answer = self.exchange(&request, API_VERSIONS_MAX)?;
        // An older broker answers in version 0, error 35: ask again in its own words.
        let mut version = API_VERSIONS_MAX;
        if answer.get(..2) == Some(&35i16.to_be_bytes()) {
            version = 0;
            answer = self.exchange(&ApiVersionsRequest::default(), version)?;
        }
        let versions = ApiVersionsResponse::decode(&mut answer, version)
            .map_err(|error| self.malformed(error.to_string()))?;
        ClientError::check("ask for the broker's versions", versions.error_code, None)?;
        for api in versions.api_keys {
            self.served
                .insert(api.api_key, (api.min_version, api.max_version));
        }
        Ok(())
    }

    /// Sends `request` in the newest version that both sides speak, at most `version_max`, and
    /// waits for the answer.
    pub(super) fn ask<Q: Request>(
        &mut self,
        request: &Q,
        version_max: i16,
    ) -> Result<Q::Response, ClientError> {
        let version = self.version::<Q>(version_max)?;
        let mut answer = self.exchange(request, version)?;
        Q::Response::decode(&mut answer, version).map_err(|error| self.malformed(error.to_string()))
    }

    /// Sends `request` without waiting: for produce without acknowledgement.
    pub(super) fn tell<Q: Request>(
        &mut self,
        request: &Q,
        version_max: i16,
    ) -> Result<(), ClientError> {
        let version = self.version::<Q>(version_max)?;
        self.send(request, version)
    }

    /// The version of `Q` to speak.
    fn version<Q: Request>(&self, version_max: i16) -> Result<i16, ClientError> {
        let ours = Q::VERSIONS;
        self.served
            .get(&Q::KEY)
            .map(|(min, max)| (*min.max(&ours.min), (*max).min(version_max).min(ours.max)))
            .filter(|(min, max)| min <= max)
            .map(|(_, max)| max)
            .ok_or_else(|| ClientError::NotServed {
                addr: self.addr.clone(),
                api: ApiKey::try_from(Q::KEY)
                    .map_or_else(|()| Q::KEY.to_string(), |k| format!("{k:?}")),
            })
    }

    fn send<Q: Request>(&mut self, request: &Q, version: i16) -> Result<(), ClientError> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let header = RequestHeader::default()
            .with_request_api_key(Q::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("highwater")));
        let mut frame = BytesMut::new();
        frame.put_u32(0);
        header
            .encode(&mut frame, Q::header_version(version))
            .and_then(|()| request.encode(&mut frame, version))
            .map_err(|error| self.malformed(format!("the request does not fit it: {error}")))?;
        let len = u32::try_from(frame.len() - 4).expect("a request is smaller than 4 GiB");
        frame[..4].copy_from_slice(&len.to_be_bytes());
        self.stream
            .write_all(&frame)
            .map_err(|error| self.broken(&error))
    }

    /// Sends a request; answers the body of its answer.
    fn exchange<Q: Request>(&mut self, request: &Q, version: i16) -> Result<Bytes, ClientError> {
        self.send(request, version)?;
        let mut prefix = [0; 4];
        self.stream
            .read_exact(&mut prefix)
            .map_err(|error| self.broken(&error))?;
        let len = u32::from_be_bytes(prefix) as usize;
        if !(4..=FRAME_BYTES_MAX).contains(&len) {
            return Err(self.malformed(format!("a frame of {len} bytes")));
        }
        let mut frame = BytesMut::zeroed(len);
        self.stream
            .read_exact(&mut frame)
            .map_err(|error| self.broken(&error))?;
        let mut frame = frame.freeze();
        let header = ResponseHeader::decode(&mut frame, Q::Response::header_version(version))
            .map_err(|error| self.malformed(error.to_string()))?;
        if header.correlation_id != self.correlation_id {
            let why = format!(
                "answer {} to request {}",
                header.correlation_id, self.correlation_id
            );
            return Err(self.malformed(why));
        }
        Ok(frame.copy_to_bytes(frame.remaining()))
    }

    fn malformed(&self, why: String) -> ClientError {
        ClientError::Malformed {
            addr: self.addr.clone(),
            why,
        }
    }

    fn broken(&self, error: &io::Error) -> ClientError {
        let addr = self.addr.clone();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::TimedOut {
                addr,
                seconds: TIMEOUT.as_secs(),
            },
            io::ErrorKind::UnexpectedEof => ClientError::Broken {
                addr,
                why: "the broker closed it".to_owned(),
            },
            _ => ClientError::Broken {
                addr,
                why: reason(error),
            },
        }
    }
}

fn dial(addr: &str) -> io::Result<TcpStream> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for addr in addr.to_socket_addrs()? {
        match TcpStream::connect_timeout(&addr, TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                return Ok(stream);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The system's text without its number, not capitalised.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_owned(),
    }
}
