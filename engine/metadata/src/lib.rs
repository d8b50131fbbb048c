//! What the cluster is made of: settings, topics and producer ids, kept in a journal.

pub mod settings;
