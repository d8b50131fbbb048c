//! Which topics a consumer's metadata names.
//!
//! ```text
//! version i16 | topic_count i32 | topic_count x (len i16 | name) | more, of later versions
//! ```
//! Source: Kafka's ConsumerProtocolSubscription.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Buf;

/// The topics; `None` when the bytes are not a consumer's metadata.
pub(crate) fn topics(mut metadata: &[u8]) -> Option<BTreeSet<Arc<str>>> {
    let version = metadata.try_get_i16().ok()?;
    let count = metadata.try_get_i32().ok()?;
    if version < 0 || count < 0 {
        return None;
    }
    let mut topics = BTreeSet::new();
    for _ in 0..count {
        let len = usize::try_from(metadata.try_get_i16().ok()?).ok()?;
        let name = metadata.get(..len)?;
        topics.insert(Arc::from(std::str::from_utf8(name).ok()?));
        metadata.advance(len);
    }
    Some(topics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_and_every_cut_is_refused() {
        let metadata = b"\x00\x01\x00\x00\x00\x02\x00\x01a\x00\x02bc";
        let expected = BTreeSet::from([Arc::from("a"), Arc::from("bc")]);
        assert_eq!(topics(metadata), Some(expected));
        for cut in 0..metadata.len() {
            assert_eq!(topics(&metadata[..cut]), None, "cut at {cut}");
        }
        assert_eq!(topics(b"\x00\x01\x7f\xff\xff\xff"), None);
    }
}
