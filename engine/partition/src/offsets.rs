//! The watermarks of a partition and what always holds between them.

use highwater_types::Offset;

/// `start <= last_stable <= high_watermark <= end`, always (kafka rule 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The first offset that can be read.
    pub start: Offset,
    /// Readers of committed records see offsets below it; the high watermark while no
    /// transaction is open.
    pub last_stable: Offset,
    /// Readers see offsets below it: what is acknowledged at the topic's durability.
    pub high_watermark: Offset,
    /// The offset that the next record gets.
    pub end: Offset,
}

impl Offsets {
    /// All four at `start`.
    #[must_use]
    pub fn at(start: Offset, end: Offset) -> Self {
        Self {
            start,
            last_stable: end,
            high_watermark: end,
            end,
        }
    }

    /// Moves the end forward after an append.
    pub fn appended(&mut self, end: Offset) {
        assert!(
            self.end <= end,
            "an append moved the end from {} back to {end}",
            self.end
        );
        self.end = end;
        self.check();
    }

    /// Moves the high watermark to `to` unless it is there or further; answers whether it moved.
    pub fn committed(&mut self, to: Offset) -> bool {
        assert!(
            to <= self.end,
            "commit up to {to} is past the end {}",
            self.end
        );
        let moved = to > self.high_watermark;
        if moved {
            self.high_watermark = to;
            self.last_stable = to;
        }
        self.check();
        moved
    }

    /// Moves the start forward after records were deleted; the watermarks follow (rule 8).
    pub fn trimmed(&mut self, start: Offset) {
        assert!(
            start >= self.start,
            "the start moved from {} back to {start}",
            self.start
        );
        assert!(
            start <= self.end,
            "start {start} is past the end {}",
            self.end
        );
        self.start = start;
        self.high_watermark = self.high_watermark.max(start);
        self.last_stable = self.last_stable.max(start);
        self.check();
    }

    /// Asserted after each change; a violation stops the broker rather than serve wrong data.
    #[track_caller]
    pub fn check(&self) {
        let Self {
            start,
            last_stable,
            high_watermark,
            end,
        } = *self;
        assert!(
            start <= last_stable,
            "start {start} is past last stable offset {last_stable}"
        );
        assert!(
            last_stable <= high_watermark,
            "last stable offset {last_stable} is past high watermark {high_watermark}"
        );
        assert!(
            high_watermark <= end,
            "high watermark {high_watermark} is past end {end}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_never_moves_the_high_watermark_back() {
        let mut offsets = Offsets::at(Offset(0), Offset(0));
        offsets.appended(Offset(10));
        assert!(offsets.committed(Offset(7)));
        assert!(!offsets.committed(Offset(3)));
        assert_eq!(offsets.high_watermark, Offset(7));
    }

    #[test]
    fn trimming_past_the_high_watermark_takes_it_along() {
        let mut offsets = Offsets::at(Offset(0), Offset(0));
        offsets.appended(Offset(10));
        offsets.trimmed(Offset(6));
        assert_eq!(offsets.high_watermark, Offset(6));
        assert_eq!(offsets.last_stable, Offset(6));
    }
}
