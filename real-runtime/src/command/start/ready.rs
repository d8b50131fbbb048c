//! The ready file: says to scripts where the broker is, once it serves.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process;

use serde_json::json;

use super::Failure;

/// A file that exists while the broker serves.
pub(super) struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Removes what an earlier run left at `path`: nobody may take it for this run's.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Self(path.to_owned()).failure(&error))
            }
            _ => Ok(Self(path.to_owned())),
        }
    }

    /// Writes it whole: a reader sees nothing or all.
    pub(super) fn write(&self, kafka: Option<SocketAddr>) -> Result<(), Failure> {
        let content = json!({
            "kafka": kafka.map(|addr| addr.to_string()),
            "pid": process::id(),
        });
        let mut beside = self.0.clone().into_os_string();
        beside.push(".tmp");
        fs::write(&beside, format!("{content}\n"))
            .and_then(|()| fs::rename(&beside, &self.0))
            .map_err(|error| self.failure(&error))
    }

    pub(super) fn remove(&self) {
        // Already gone is as good.
        let _ = fs::remove_file(&self.0);
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        let path = self.0.display();
        Failure::failed(format!(
            "cannot write the ready file {path}: {error}. Choose a place that this user may \
             write with --ready-file."
        ))
    }
}
