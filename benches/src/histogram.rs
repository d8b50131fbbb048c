//! A log-linear histogram of durations: any percentile within 1.6 %, in constant memory.

use std::time::Duration;

/// Buckets of one octave; the error of a percentile is at most half of its inverse.
const PER_OCTAVE: u64 = 64;

/// Octaves above the linear part: up to 2^40 ns, 18 minutes.
const OCTAVES: u64 = 34;

/// Counts of durations by nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let len = usize::try_from(PER_OCTAVE * (OCTAVES + 1)).expect("a few thousand");
        Self {
            buckets: vec![0; len],
            count: 0,
            max_ns: 0,
        }
    }
}

impl Histogram {
    /// Counts `duration`; longer ones than the last octave count there.
    pub fn record(&mut self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let at = bucket(ns).min(self.buckets.len() - 1);
        self.buckets[at] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many durations were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest duration, exact, in ms.
    #[must_use]
    pub fn max_ms(&self) -> f64 {
        self.max_ns as f64 / 1e6
    }

    /// The duration in ms that `share` (0 to 1) of the counted ones do not exceed; 0 when empty.
    #[must_use]
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return middle_ns(at as u64) / 1e6;
            }
        }
        0.0
    }
}

/// The bucket of `ns`: exact below [`PER_OCTAVE`], then [`PER_OCTAVE`] to each doubling.
fn bucket(ns: u64) -> usize {
    let octave = u64::from((ns / PER_OCTAVE).checked_ilog2().map_or(0, |bits| bits + 1));
    let at = match octave {
        0 => ns,
        _ => octave * PER_OCTAVE + ((ns >> (octave - 1)) - PER_OCTAVE),
    };
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn middle_ns(at: u64) -> f64 {
    let (octave, step) = (at / PER_OCTAVE, at % PER_OCTAVE);
    match octave {
        0 => step as f64,
        _ => (((PER_OCTAVE + step) << (octave - 1)) as f64) + ((1u64 << (octave - 1)) as f64) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_two_percent_of_the_exact_one() {
        let mut histogram = Histogram::default();
        for us in 1..=100_000 {
            histogram.record(Duration::from_micros(us));
        }
        for (share, exact_ms) in [(0.5, 50.0), (0.99, 99.0), (0.999, 99.9)] {
            let got = histogram.percentile_ms(share);
            assert!(
                (got / exact_ms - 1.0).abs() < 0.02,
                "share {share}: {got} for {exact_ms} ms"
            );
        }
    }

    #[test]
    fn buckets_grow_with_the_duration_and_meet_at_each_octave() {
        let mut last = 0;
        for ns in 0..100_000 {
            let at = bucket(ns);
            assert!(
                at == last || at == last + 1,
                "bucket {at} of {ns} ns after {last}"
            );
            last = at;
        }
    }
}
