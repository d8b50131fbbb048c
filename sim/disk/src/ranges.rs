//! A set of bytes of a file, kept as sorted ranges that do not touch.

/// Half-open ranges, sorted, with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Whether no byte is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes are in the set.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds `[start, end)`.
    pub fn add(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|(_, e)| *e < start);
        let after = self.0.partition_point(|(s, _)| *s <= end);
        if first < after {
            start = start.min(self.0[first].0);
            end = end.max(self.0[after - 1].1);
        }
        self.0.splice(first..after, [(start, end)]);
    }

    /// Takes `[start, end)` out.
    pub fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let mut left = Vec::with_capacity(self.0.len() + 1);
        for (s, e) in self.0.drain(..) {
            if s < start {
                left.push((s, e.min(start)));
            }
            if e > end {
                left.push((s.max(end), e));
            }
        }
        left.retain(|(s, e)| s < e);
        self.0 = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_agree_with_a_set_of_bytes() {
        let mut rng = crate::stream(7, "ranges");
        for _ in 0..200 {
            let (mut ranges, mut bytes) = (Ranges::default(), std::collections::BTreeSet::new());
            for _ in 0..20 {
                let start = crate::rng::between(&mut rng, 0, 40);
                let end = crate::rng::between(&mut rng, start, 45);
                if crate::chance(&mut rng, 600) {
                    ranges.add(start, end);
                    bytes.extend(start..end);
                } else {
                    ranges.remove(start, end);
                    bytes.retain(|byte| *byte < start || *byte >= end);
                }
                let listed: Vec<u64> = ranges.iter().flat_map(|(s, e)| s..e).collect();
                assert_eq!(listed, bytes.iter().copied().collect::<Vec<_>>());
                assert!(
                    ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0),
                    "{ranges:?}"
                );
                assert_eq!(ranges.bytes(), bytes.len() as u64);
            }
        }
    }
}
