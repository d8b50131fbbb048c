//! One file a family of requests; each answers, none decides what the log or a group may do.

pub(crate) mod authorized;
pub(crate) mod cluster;
pub(crate) mod configs;
pub(crate) mod fetch;
pub(crate) mod groups;
pub(crate) mod metadata;
pub(crate) mod offsets;
pub(crate) mod produce;
pub(crate) mod producers;
pub(crate) mod records;
pub(crate) mod topics;
pub(crate) mod versions;
