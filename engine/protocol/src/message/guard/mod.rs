//! Walks a request's body before the message crate decodes it, and refuses what would hurt.
//!
//! The crate's decoders reserve memory by the array lengths they read: a 4-byte Metadata body
//! asks for 155 GB and aborts the process. The walk follows the same layout, described by the
//! tables in [`schemas`], and checks every length and count against the bytes that are there.
//! Beside that it adds up what the decoded structs will take, and refuses a body that would
//! become more than [`COST_FACTOR`] times its length (a few MiB are always allowed, see
//! [`COST_FREE_BYTES`]): elements of 2 bytes on the wire can take 90 in memory.

mod schema;
mod schemas;

use bytes::Bytes;

use self::schema::{Field, Kind, Tag};
use super::api::{self, ApiKey};
use super::error::{Malformed, MalformedReason};
use super::reader::Reader;

/// How many times its own length a body may take in memory, beyond [`COST_FREE_BYTES`].
pub const COST_FACTOR: usize = 8;

/// Memory that every body may take, however short it is.
pub const COST_FREE_BYTES: usize = 4 << 20;

/// What one tagged field costs that the decoder keeps in a map.
const TAG_COST: usize = 96;

/// What the allocation of one array costs beside its elements.
const ARRAY_COST: usize = 16;

/// Walks the body of a request of a served version; answers the body's length.
///
/// Bytes after the body are allowed.
///
/// # Errors
/// [`Malformed`] for a body that ends early, contradicts itself, or would take far more memory
/// than it has bytes: it must not be decoded.
pub fn check(key: ApiKey, version: i16, body: &Bytes) -> Result<usize, Malformed> {
    let flexible = api::of(key).is_flexible(version);
    let budget = COST_FREE_BYTES + body.len().saturating_mul(COST_FACTOR);
    let reader = Reader::new(body);
    let mut walk = Walk {
        reader,
        version,
        flexible,
        cost: 0,
        budget,
    };
    walk.body(schemas::of(key))?;
    Ok(walk.reader.at())
}

/// A walk in progress.
struct Walk<'a> {
    reader: Reader<'a>,
    version: i16,
    flexible: bool,
    cost: usize,
    budget: usize,
}

impl Walk<'_> {
    fn body(&mut self, schema: &'static schema::Struct) -> Result<(), Malformed> {
        self.fields(schema.fields)?;
        if self.flexible {
            self.tags(schema.tags)?;
        }
        Ok(())
    }

    fn fields(&mut self, fields: &'static [Field]) -> Result<(), Malformed> {
        for field in fields {
            if (field.since..=field.until).contains(&self.version) {
                self.value(&field.kind)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, kind: &'static Kind) -> Result<(), Malformed> {
        match kind {
            Kind::Fixed(len) => self.reader.skip(*len),
            Kind::String => self.reader.skip_string(self.flexible).map(|_| ()),
            Kind::Bytes => self.reader.bytes(self.flexible).map(|_| ()),
            Kind::Records => self.reader.records(self.flexible).map(|_| ()),
            Kind::Struct(schema) => self.body(schema),
            Kind::Optional(schema) => match self.reader.u8()? {
                1 => self.body(schema),
                _ => Ok(()),
            },
            Kind::Array { of, element_bytes } => {
                let Some(count) = self.reader.count(self.flexible)? else {
                    return Ok(());
                };
                self.spend(ARRAY_COST + count * element_bytes)?;
                (0..count).try_for_each(|_| self.value(of))
            }
        }
    }

    fn tags(&mut self, known: &'static [Tag]) -> Result<(), Malformed> {
        let count = self.reader.uvarint()?;
        for _ in 0..count {
            let number = self.reader.uvarint()?;
            let len = self.reader.uvarint()? as usize;
            let Some(tag) = known.iter().find(|tag| tag.number == number) else {
                self.reader.skip(len)?;
                self.spend(TAG_COST)?;
                continue;
            };
            let start = self.reader.at();
            self.value(&tag.kind)?;
            if self.version < tag.since || self.reader.at() - start != len {
                return Err(Malformed {
                    at: start,
                    reason: MalformedReason::BadTag(number),
                });
            }
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.cost += bytes;
        if self.cost > self.budget {
            let reason = MalformedReason::TooCostly {
                cost: self.cost,
                budget: self.budget,
            };
            return Err(self.reader.refuse(reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
