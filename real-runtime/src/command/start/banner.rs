//! What a start tells its operator: where everything is, and what recovery did.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::SocketAddr;

use highwater_broker::StartReport;

use super::folder::Folder;

/// At most this many partitions are named; more would hide the rest of the banner.
const NAMED_MAX: usize = 20;

/// What is told.
pub(super) struct Facts<'a> {
    pub folder: &'a Folder,
    pub cluster_id: String,
    pub durability: &'static str,
    pub bound: &'a [SocketAddr],
    pub advertised: &'a (String, u16),
    pub report: &'a StartReport,
    pub ready_ms: u128,
    pub default_port: bool,
}

/// Writes the banner.
///
/// # Errors
/// Never for a closed output: a broker whose terminal went away serves on.
pub(super) fn print(facts: &Facts<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out
        .write_all(text(facts).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes one line to standard output, if anybody reads it.
pub(super) fn line(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

fn text(facts: &Facts<'_>) -> String {
    let Facts {
        folder,
        cluster_id,
        durability,
        report,
        ready_ms,
        ..
    } = facts;
    let version = env!("CARGO_PKG_VERSION");
    let new = if report.is_new { "new, " } else { "" };
    let mut text = format!(
        "highwater {version}  single node, data in {} ({new}id {cluster_id})    durability: {durability}\n",
        folder.shown()
    );
    let (host, port) = facts.advertised;
    for bound in facts.bound {
        let _ = writeln!(
            text,
            "  Kafka    {bound}   clients will be told {host}:{port}"
        );
    }
    if facts.bound.iter().any(|bound| !bound.ip().is_loopback()) {
        text.push_str("  Anybody who reaches this port may read and write: there is no login.\n");
    }
    recovery(&mut text, report);
    let flag = match facts.bound.first() {
        Some(bound) if !facts.default_port || bound.port() != 9092 => {
            format!(" -b 127.0.0.1:{}", bound.port())
        }
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "Try:  echo hello | highwater produce greetings{flag}   then   \
         highwater consume greetings -o start{flag}"
    );
    let _ = writeln!(text, "Ready in {ready_ms} ms.");
    text
}

/// What recovery found, cut and rebuilt; nothing for a new folder.
fn recovery(text: &mut String, report: &StartReport) {
    let StartReport {
        topics, partitions, ..
    } = report;
    if !report.is_new {
        let held = format!("{topics} topics, {partitions} partitions");
        let _ = if report.was_clean {
            writeln!(
                text,
                "Recovery: the last run stopped cleanly; {held}, nothing to scan."
            )
        } else {
            let (scanned, cut) = (size(report.scanned_bytes), size(report.cut_bytes));
            writeln!(
                text,
                "Recovery: the last run did not stop cleanly; {held}, scanned {scanned}, \
                 cut {cut} of torn writes."
            )
        };
    }
    for (partition, recovered) in report.notable.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "  {partition}: {recovered}");
    }
    if let Some(more) = report
        .notable
        .len()
        .checked_sub(NAMED_MAX)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(text, "  and {more} more partitions");
    }
    if let Some(why) = &report.index_rebuilt {
        let _ = writeln!(
            text,
            "  The index is rebuilt from the logs as it is needed: {why}"
        );
    }
    for (partition, why) in report.offline.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "  {partition} IS OFFLINE, the rest is served: {why}");
    }
    if let Some(more) = report
        .offline
        .len()
        .checked_sub(NAMED_MAX)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(text, "  and {more} more partitions ARE OFFLINE");
    }
}

/// `17 bytes`, `1.5 MiB`.
fn size(bytes: u64) -> String {
    let (shift, unit) = match bytes {
        0..1024 => return format!("{bytes} bytes"),
        1024..1_048_576 => (10, "KiB"),
        1_048_576..1_073_741_824 => (20, "MiB"),
        _ => (30, "GiB"),
    };
    let tenths = (bytes % (1 << shift) * 10) >> shift;
    format!("{}.{tenths} {unit}", bytes >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(17), "17 bytes");
        assert_eq!(size(3 * 1024 / 2), "1.5 KiB");
        assert_eq!(size(1_073_741_824), "1.0 GiB");
    }
}
