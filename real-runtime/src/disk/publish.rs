//! Replacing a small file so that a crash leaves the old or the new content, whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

/// The files being replaced now: two publishes of one file take turns, because they share the
/// name of the file beside it.
#[derive(Default)]
pub(super) struct Publishing {
    busy: Mutex<BTreeSet<PathBuf>>,
    done: Condvar,
}

impl Publishing {
    /// Writes `content` beside `path`, syncs it, renames it and syncs the folder. Waits for the
    /// device: never call it on a core.
    pub(super) fn publish(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let turn = self.turn(path);
        let mut beside = path.as_os_str().to_owned();
        beside.push(".tmp");
        let beside = Path::new(&beside);
        let written = write_durably(beside, content).and_then(|()| fs::rename(beside, path));
        if let Err(error) = written {
            // The space is wanted back; the next publish would overwrite it anyway.
            let _ = fs::remove_file(beside);
            return Err(error);
        }
        let folder = path.parent().expect("a file is in a folder");
        File::open(folder)?.sync_all()?;
        drop(turn);
        Ok(())
    }

    fn turn<'a>(&'a self, path: &Path) -> Turn<'a> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        while busy.contains(path) {
            busy = self.done.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        busy.insert(path.to_owned());
        Turn {
            publishing: self,
            path: path.to_owned(),
        }
    }
}

struct Turn<'a> {
    publishing: &'a Publishing,
    path: PathBuf,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let busy = self.publishing.busy.lock();
        busy.unwrap_or_else(PoisonError::into_inner)
            .remove(&self.path);
        self.publishing.done.notify_all();
    }
}

fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}
