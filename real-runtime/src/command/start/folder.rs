//! The data folder of a start: the one asked for, or a temporary one.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use super::Failure;

/// A data folder; a temporary one is removed with it.
pub(super) struct Folder {
    path: PathBuf,
    ephemeral: bool,
}

impl Folder {
    /// `data_dir`, or a new temporary folder.
    pub(super) fn choose(ephemeral: bool, data_dir: &str) -> Result<Self, Failure> {
        if !ephemeral {
            return Ok(Self {
                path: PathBuf::from(data_dir),
                ephemeral,
            });
        }
        // A process of the same number may have died and left its folder.
        for attempt in 0.. {
            let name = format!("highwater-{}-{attempt}", process::id());
            let path = env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, ephemeral }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 1000 => {}
                Err(error) => {
                    return Err(Failure::failed(format!(
                        "cannot make a temporary folder {}: {error}. Set TMPDIR to a folder that \
                         this user may write.",
                        path.display()
                    )));
                }
            }
        }
        unreachable!("the loop returns")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path as an operator knows it.
    pub(super) fn shown(&self) -> String {
        let kind = if self.ephemeral {
            ", removed at the end"
        } else {
            ""
        };
        format!("{}{kind}", self.path.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.ephemeral {
            // The system's own cleaning takes what is left.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
