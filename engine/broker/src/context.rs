//! Who asks: what a handler may know of the connection that a request came on.

use std::net::SocketAddr;

use highwater_protocol::message::RequestHeader;

/// The connection and the header of one request.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The client's address.
    pub(crate) peer: SocketAddr,
    /// The request's header.
    pub(crate) header: &'a RequestHeader,
}

impl Context<'_> {
    /// The request's version.
    pub(crate) fn version(&self) -> i16 {
        self.header.version
    }

    /// What the client calls itself; empty when it does not say.
    pub(crate) fn client_id(&self) -> &str {
        self.header.client_id.as_deref().unwrap_or_default()
    }

    /// The client's host as Kafka shows it in group descriptions.
    pub(crate) fn client_host(&self) -> String {
        format!("/{}", self.peer.ip())
    }
}
