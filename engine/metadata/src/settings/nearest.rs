//! The accepted word that looks most like a mistyped one.

/// The candidate with the smallest edit distance to `word`; the first one of several.
///
/// `None` when nothing is closer than half of the word's length: a wrong hint is worse than none.
#[must_use]
pub fn nearest(word: &str, candidates: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // A client may send a key of any length: what long words look like does not matter.
    let word: Vec<u8> = word.bytes().take(WORD_LEN_MAX).collect();
    let limit = (word.len() / 2).max(1);
    candidates
        .map(|candidate| (distance(&word, candidate.as_bytes()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// No accepted key is longer.
const WORD_LEN_MAX: usize = 64;

/// Levenshtein's distance: insertions, deletions and replacements of one byte.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, byte) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_word_like_nothing_gets_no_hint() {
        let keys = ["retention.ms", "segment.bytes"];
        assert_eq!(
            nearest("retention.m", keys.into_iter()),
            Some("retention.ms")
        );
        assert_eq!(nearest("zzzzzzzz", keys.into_iter()), None);
        assert_eq!(nearest("", keys.into_iter()), None);
    }
}
