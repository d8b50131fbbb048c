//! A small Kafka client for the command line: one request at a time, on blocking sockets.
//!
//! It works with any Kafka broker. It speaks the newest version of each request that the broker
//! knows and that still names topics, not their ids.

mod admin;
mod cluster;
mod connection;
mod error;
mod fetch;
mod groups;
mod producer;

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::protocol::Request;

pub use admin::{NewTopic, TopicConfig};
pub use cluster::{Cluster, Partition, Topic};
pub use connection::Connection;
pub use error::{ClientError, code_name};
pub use fetch::{Fetched, OffsetSpec};
pub use groups::{Group, GroupDetail, GroupMember};
pub use producer::{Acks, Producer, Written};

/// How long a connection attempt and each answer may take, beyond what a request asks for.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Connections to the brokers of one cluster.
pub struct Client {
    bootstrap: String,
    connections: BTreeMap<String, Connection>,
}

impl Client {
    /// Connects to `bootstrap`, `host:port`.
    ///
    /// # Errors
    /// [`ClientError::Connect`] when nobody answers there.
    pub fn connect(bootstrap: &str) -> Result<Self, ClientError> {
        let mut client = Self {
            bootstrap: bootstrap.to_owned(),
            connections: BTreeMap::new(),
        };
        client.connection(bootstrap)?;
        Ok(client)
    }

    /// The address that the client was given.
    #[must_use]
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Asks the bootstrap broker.
    fn ask<Q: Request>(
        &mut self,
        request: &Q,
        version_max: i16,
    ) -> Result<Q::Response, ClientError> {
        let bootstrap = self.bootstrap.clone();
        self.ask_at(&bootstrap, request, version_max)
    }

    /// Asks the broker at `addr`. A connection that failed is not used again.
    fn ask_at<Q: Request>(
        &mut self,
        addr: &str,
        request: &Q,
        version_max: i16,
    ) -> Result<Q::Response, ClientError> {
        let answer = self.connection(addr)?.ask(request, version_max);
        if answer.is_err() {
            self.connections.remove(addr);
        }
        answer
    }

    fn connection(&mut self, addr: &str) -> Result<&mut Connection, ClientError> {
        if !self.connections.contains_key(addr) {
            self.connections
                .insert(addr.to_owned(), Connection::open(addr)?);
        }
        Ok(self.connections.get_mut(addr).expect("inserted above"))
    }
}
