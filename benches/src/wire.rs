//! The hot messages by hand: Produce 9 and Fetch 12, sent from templates and read in place.
//!
//! Source: Kafka protocol guide, Produce v9, Fetch v12; flexible versions, header v2 and v1.

use crate::LoadError;

const PRODUCE: (i16, i16) = (0, 9);
const FETCH: (i16, i16) = (1, 12);
const CLIENT_ID: &[u8] = b"highwater-load";

/// Where the correlation id stands in a frame.
const CORRELATION_AT: usize = 8;

/// One Produce request of one batch; only its correlation id differs from send to send.
#[must_use]
pub fn produce_frame(topic: &str, partition: i32, acks: i16, batch: &[u8]) -> Vec<u8> {
    let mut out = begin(PRODUCE);
    out.push(0); // no transactional id
    out.extend(acks.to_be_bytes());
    out.extend(30_000i32.to_be_bytes());
    push_len(&mut out, 1);
    push_string(&mut out, topic.as_bytes());
    push_len(&mut out, 1);
    out.extend(partition.to_be_bytes());
    push_len(&mut out, batch.len());
    out.extend(batch);
    out.extend([0, 0, 0]); // tags of the partition, the topic and the request
    end(out)
}

/// Where one partition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The partition's number.
    pub partition: i32,
    /// The first offset asked for.
    pub offset: i64,
}

/// Limits of one fetch, as in Kafka's consumer settings.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// How long the broker may wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// Bytes worth an answer.
    pub min_bytes: i32,
    /// Bytes of all partitions.
    pub max_bytes: i32,
    /// Bytes of one partition.
    pub partition_max_bytes: i32,
}

/// One Fetch request outside of any session.
#[must_use]
pub fn fetch_frame(topic: &str, places: &[Place], limits: FetchLimits) -> Vec<u8> {
    let mut out = begin(FETCH);
    out.extend((-1i32).to_be_bytes());
    out.extend(limits.max_wait_ms.to_be_bytes());
    out.extend(limits.min_bytes.to_be_bytes());
    out.extend(limits.max_bytes.to_be_bytes());
    out.push(0); // read uncommitted
    out.extend(0i32.to_be_bytes());
    out.extend((-1i32).to_be_bytes()); // no session
    push_len(&mut out, 1);
    push_string(&mut out, topic.as_bytes());
    push_len(&mut out, places.len());
    for place in places {
        out.extend(place.partition.to_be_bytes());
        out.extend((-1i32).to_be_bytes());
        out.extend(place.offset.to_be_bytes());
        out.extend((-1i32).to_be_bytes());
        out.extend((-1i64).to_be_bytes());
        out.extend(limits.partition_max_bytes.to_be_bytes());
        out.push(0);
    }
    out.push(0);
    push_len(&mut out, 0); // forgotten topics
    push_string(&mut out, b""); // rack
    out.push(0);
    end(out)
}

/// Numbers the request in `frame`.
pub fn set_correlation(frame: &mut [u8], id: i32) {
    frame[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&id.to_be_bytes());
}

fn begin((key, version): (i16, i16)) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(key.to_be_bytes());
    out.extend(version.to_be_bytes());
    out.extend(0i32.to_be_bytes());
    out.extend((CLIENT_ID.len() as i16).to_be_bytes());
    out.extend(CLIENT_ID);
    out.push(0);
    out
}

fn end(mut out: Vec<u8>) -> Vec<u8> {
    let len = u32::try_from(out.len() - 4).expect("a frame is far below 4 GiB");
    out[..4].copy_from_slice(&len.to_be_bytes());
    out
}

/// A compact length: one more than the count, base 128.
fn push_len(out: &mut Vec<u8>, count: usize) {
    let mut left = count + 1;
    while left >= 0x80 {
        out.push((left as u8) | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    push_len(out, text.len());
    out.extend(text);
}

/// Reads the answer to [`produce_frame`]: its correlation id.
///
/// # Errors
/// [`LoadError::Refused`] with the partition's error; [`LoadError::Malformed`].
pub fn read_produced(answer: &[u8]) -> Result<i32, LoadError> {
    let mut input = Input {
        bytes: answer,
        at: 0,
        during: "produce",
    };
    let correlation = input.int32()?;
    input.tags()?;
    if input.len()? != 1 {
        return Err(input.malformed());
    }
    let topic = input.len()?;
    input.take(topic)?;
    if input.len()? != 1 {
        return Err(input.malformed());
    }
    input.int32()?;
    input.no_error()?;
    Ok(correlation)
}

/// Reads the answer to [`fetch_frame`] and shows the records of each partition to `see`.
///
/// # Errors
/// [`LoadError::Refused`] with the first error; [`LoadError::Malformed`].
pub fn read_fetched<'a>(
    answer: &'a [u8],
    mut see: impl FnMut(i32, &'a [u8]),
) -> Result<(), LoadError> {
    let mut input = Input {
        bytes: answer,
        at: 0,
        during: "fetch",
    };
    input.int32()?;
    input.tags()?;
    input.int32()?;
    input.no_error()?;
    input.int32()?;
    for _ in 0..input.len()? {
        let topic = input.len()?;
        input.take(topic)?;
        for _ in 0..input.len()? {
            let partition = input.int32()?;
            input.no_error()?;
            input.take(24)?; // high watermark, last stable offset, log start
            for _ in 0..input.len()? {
                input.take(16)?; // an aborted transaction
                input.tags()?;
            }
            input.int32()?;
            let records = input.len()?;
            see(partition, input.take(records)?);
            input.tags()?;
        }
        input.tags()?;
    }
    Ok(())
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    during: &'static str,
}

impl<'a> Input<'a> {
    fn malformed(&self) -> LoadError {
        LoadError::Malformed {
            during: self.during,
            at: self.at,
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], LoadError> {
        let end = self.at.checked_add(len).ok_or_else(|| self.malformed())?;
        let part = self
            .bytes
            .get(self.at..end)
            .ok_or_else(|| self.malformed())?;
        self.at = end;
        Ok(part)
    }

    fn int32(&mut self) -> Result<i32, LoadError> {
        Ok(i32::from_be_bytes(
            self.take(4)?.try_into().expect("four bytes were taken"),
        ))
    }

    fn no_error(&mut self) -> Result<(), LoadError> {
        let code = i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes were taken"));
        if code == 0 {
            Ok(())
        } else {
            Err(LoadError::Refused {
                during: self.during,
                code,
            })
        }
    }

    fn varint(&mut self) -> Result<usize, LoadError> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed())
    }

    /// A compact length; null counts as empty.
    fn len(&mut self) -> Result<usize, LoadError> {
        Ok(self.varint()?.saturating_sub(1))
    }

    fn tags(&mut self) -> Result<(), LoadError> {
        for _ in 0..self.varint()? {
            self.varint()?;
            let len = self.varint()?;
            self.take(len)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{Buf, Bytes};
    use kafka_protocol::messages::{FetchRequest, ProduceRequest, RequestHeader};
    use kafka_protocol::protocol::Decodable;

    #[test]
    fn a_produce_frame_reads_as_the_request_it_stands_for() {
        let mut frame = produce_frame("topic", 3, -1, b"batch");
        set_correlation(&mut frame, 77);
        let mut bytes = Bytes::from(frame);
        assert_eq!(bytes.get_u32() as usize, bytes.len());
        let header = RequestHeader::decode(&mut bytes, 2).expect("a header");
        assert_eq!((header.request_api_version, header.correlation_id), (9, 77));
        let request = ProduceRequest::decode(&mut bytes, 9).expect("a body");
        assert!(bytes.is_empty(), "{} bytes are left", bytes.len());
        let partition = &request.topic_data[0].partition_data[0];
        assert_eq!((request.acks, partition.index), (-1, 3));
        assert_eq!(partition.records.as_deref(), Some(&b"batch"[..]));
    }

    #[test]
    fn a_fetch_frame_reads_as_the_request_it_stands_for() {
        let limits = FetchLimits {
            max_wait_ms: 1,
            min_bytes: 2,
            max_bytes: 3,
            partition_max_bytes: 4,
        };
        let frame = fetch_frame(
            "topic",
            &[Place {
                partition: 5,
                offset: 6,
            }],
            limits,
        );
        let mut bytes = Bytes::from(frame).slice(4..);
        RequestHeader::decode(&mut bytes, 2).expect("a header");
        let request = FetchRequest::decode(&mut bytes, 12).expect("a body");
        assert!(bytes.is_empty(), "{} bytes are left", bytes.len());
        let partition = &request.topics[0].partitions[0];
        assert_eq!((partition.partition, partition.fetch_offset), (5, 6));
        assert_eq!((request.min_bytes, partition.partition_max_bytes), (2, 4));
    }
}
