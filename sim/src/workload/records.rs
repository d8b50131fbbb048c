//! Records as batches of bytes, and back: by the `kafka-protocol` crate, not by the engine.

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

use crate::history::{Read, Sent};

/// Who sends a batch, and its place in what it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub sequence: i32,
}

impl Stamp {
    /// A producer without an id.
    pub const NONE: Self = Self {
        producer_id: -1,
        producer_epoch: -1,
        sequence: -1,
    };
}

/// One batch.
pub(crate) fn encode(records: &[Sent], stamp: Stamp) -> Bytes {
    let records: Vec<Record> = records
        .iter()
        .enumerate()
        .map(|(at, sent)| {
            let mut headers = IndexMap::default();
            if let Some(header) = &sent.header {
                headers.insert(StrBytes::from_static_str("h"), Some(header.clone()));
            }
            Record {
                transactional: false,
                control: false,
                delete_horizon: false,
                partition_leader_epoch: -1,
                producer_id: stamp.producer_id,
                producer_epoch: stamp.producer_epoch,
                timestamp_type: TimestampType::Creation,
                offset: at as i64,
                // The encoder starts a new batch where sequences do not follow each other, so the
                // records of a producer without an id count from -1.
                sequence: stamp.sequence + at as i32,
                timestamp: sent.timestamp,
                key: sent.key.clone(),
                value: Some(sent.value.clone()),
                headers,
            }
        })
        .collect();
    let mut batch = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    RecordBatchEncoder::encode(&mut batch, &records, &options).expect("our records encode");
    batch.freeze()
}

/// The records of whole batches; what is cut off at the end is left out.
///
/// # Errors
/// What the decoder says, which checks each CRC.
pub(crate) fn decode(mut batches: Bytes) -> Result<Vec<Read>, String> {
    let mut reads = Vec::new();
    while let Some(len) = batch_len(&batches) {
        let mut batch = batches.split_to(len);
        let set = RecordBatchDecoder::decode(&mut batch).map_err(|error| format!("{error:#}"))?;
        for record in set.records {
            let header = record.headers.values().next().cloned().flatten();
            let Record {
                offset,
                key,
                value,
                timestamp,
                ..
            } = record;
            reads.push(Read {
                offset,
                key,
                value,
                timestamp,
                header,
            });
        }
    }
    Ok(reads)
}

/// How long the first batch is, if all of it is there.
fn batch_len(batches: &Bytes) -> Option<usize> {
    let len = batches.get(8..12)?;
    let len = 12 + u32::from_be_bytes([len[0], len[1], len[2], len[3]]) as usize;
    (len <= batches.len()).then_some(len)
}
