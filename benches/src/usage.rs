//! What a process used so far, as Linux counts it in `/proc`.

use std::fs;
use std::io;

use crate::LoadError;

/// CPU time and memory of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// User and system seconds of all its threads, in steps of 1/100 s.
    pub cpu_seconds: f64,
    /// Resident memory that is its own or mapped (`VmRSS`), in MiB.
    pub rss_mib: f64,
    /// Resident memory without mapped files (`RssAnon`), in MiB: maps of a log are page cache,
    /// which the kernel takes back when it needs it.
    pub anon_mib: f64,
}

impl Usage {
    /// What `pid` used until now.
    ///
    /// # Errors
    /// [`LoadError::Io`] when there is no such process.
    pub fn of(pid: u32) -> Result<Self, LoadError> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let stat = read("stat").map_err(LoadError::io("read the broker's CPU time"))?;
        let status = read("status").map_err(LoadError::io("read the broker's memory"))?;
        let cpu_seconds = cpu_seconds(&stat).ok_or_else(|| {
            let odd = io::Error::new(io::ErrorKind::InvalidData, "an unknown form of stat");
            LoadError::io("read the broker's CPU time")(odd)
        })?;
        let mib = |key| kib(&status, key).unwrap_or(0.0) / 1024.0;
        Ok(Self {
            cpu_seconds,
            rss_mib: mib("VmRSS:"),
            anon_mib: mib("RssAnon:"),
        })
    }
}

/// Fields 14 and 15 of proc(5) `stat`; the name in field 2 may hold spaces and brackets.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / ticks_per_second())
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes no pointer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    ticks as f64
}

fn kib(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_a_name_with_spaces_and_brackets() {
        let stat = "7 (a) b) S 1 1 1 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 1 0";
        assert_eq!(cpu_seconds(stat), Some(300.0 / ticks_per_second()));
    }

    #[test]
    fn this_process_has_memory() {
        let usage = Usage::of(std::process::id()).expect("this process runs");
        assert!(usage.rss_mib > 0.0 && usage.anon_mib > 0.0, "{usage:?}");
    }
}
