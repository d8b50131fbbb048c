//! The broker: connections in, requests dispatched to handlers, partitions and groups behind them.
//!
//! [`Broker::start`] opens the data folder and recovers it; [`Broker::serve`] runs on every core
//! with a listener of that core; [`Broker::stop`] makes everything durable and marks the folder
//! clean. One file of `handlers/` answers one family of requests; only this crate knows both a
//! protocol and a partition, and only `error_code` knows wire error codes.

mod broker;
mod catalog;
mod changes;
mod config;
mod connection;
mod context;
mod dispatch;
mod error_code;
mod folders;
mod groups;
mod handlers;
mod scratch;
mod session;
mod start;
mod stop;
mod sweeper;
mod topics;

pub use broker::Broker;
pub use catalog::{Catalog, TopicEntry};
pub use config::BrokerConfig;
pub use start::{StartError, StartReport};
