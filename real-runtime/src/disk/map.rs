//! One read-only memory map of a file, with room for the file to grow.
//!
//! The map reaches past the end of the file; touching a page there would kill the process, and
//! bytes above the committed length may still change. So no reference is ever made to more than
//! the range asked for, which lies below the committed length: bytes that no one changes again
//! (the log appends only, and truncates only what no view covers).

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{MmapOptions, MmapRaw};

/// The smallest map of a file that still grows. Address space only: pages cost when touched.
const GROWING_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// A map of a file's first bytes.
pub(super) struct Map {
    raw: Arc<MmapRaw>,
}

impl Map {
    /// Maps `file`, whose committed length is `len`, with room unless it is `sealed`.
    pub(super) fn new(file: &File, len: u64, sealed: bool) -> io::Result<Self> {
        let bytes = if sealed {
            len
        } else {
            len.saturating_mul(2).max(GROWING_BYTES_MIN)
        };
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let raw = MmapOptions::new().len(bytes).map_raw_read_only(file)?;
        Ok(Self { raw: Arc::new(raw) })
    }

    /// How many bytes of the file it can show.
    pub(super) fn capacity(&self) -> u64 {
        self.raw.len() as u64
    }

    /// The bytes `[start, start + len)`, which keep the map alive.
    ///
    /// The caller has checked that the range is below the committed length.
    pub(super) fn view(&self, start: u64, len: usize) -> Bytes {
        let start = usize::try_from(start).expect("a position below the map's end");
        let end = start.checked_add(len).expect("a range below the map's end");
        assert!(
            end <= self.raw.len(),
            "range end {end} is past the map's {}",
            self.raw.len()
        );
        Bytes::from_owner(View {
            raw: Arc::clone(&self.raw),
            start,
            len,
        })
    }
}

struct View {
    raw: Arc<MmapRaw>,
    start: usize,
    len: usize,
}

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `Map::view` checked that the range lies inside the map, and its caller that it
        // lies below the committed length of the file, so the pages exist. These bytes do not
        // change while the view lives: files are appended only, and `File::truncate` demands that
        // no view covers what it cuts. The map lives as long as `self.raw`.
        unsafe { std::slice::from_raw_parts(self.raw.as_ptr().add(self.start), self.len) }
    }
}
