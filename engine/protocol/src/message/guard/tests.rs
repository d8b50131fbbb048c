//! The tables against the message crate: random bodies end at the same byte for both, and damaged
//! ones neither panic nor take more memory than the guard allows.

use bytes::{BufMut, Bytes, BytesMut};

use super::schema::{Kind, Struct};
use super::*;
use crate::message::testing::{Draw, peak_bytes};
use crate::message::{Request, decode_request};

/// Encodes random bodies by a table.
struct Writer<'a> {
    out: BytesMut,
    draw: &'a mut Draw,
    version: i16,
    flexible: bool,
    /// Whether to add tagged fields that nobody knows.
    unknown_tags: bool,
}

impl Writer<'_> {
    fn body(&mut self, schema: &'static Struct) {
        for field in schema.fields {
            if (field.since..=field.until).contains(&self.version) {
                self.value(&field.kind);
            }
        }
        if self.flexible {
            self.tags(schema);
        }
    }

    fn len(&mut self, len: usize, wide: bool) {
        if self.flexible {
            super::super::fetch::put_uvarint(len + 1, &mut self.out);
        } else if wide {
            self.out.put_i32(len as i32);
        } else {
            self.out.put_i16(len as i16);
        }
    }

    fn value(&mut self, kind: &'static Kind) {
        match kind {
            Kind::Fixed(len) => {
                for _ in 0..*len {
                    self.out.put_u8(self.draw.next() as u8);
                }
            }
            Kind::String => {
                let len = self.draw.below(300) as usize;
                self.len(len, false);
                self.out.put_bytes(b'x', len);
            }
            Kind::Bytes | Kind::Records => {
                let len = self.draw.below(300) as usize;
                self.len(len, true);
                self.out.put_bytes(0xfe, len);
            }
            Kind::Struct(schema) => self.body(schema),
            Kind::Optional(schema) => {
                if self.draw.one_in(2) {
                    self.out.put_i8(1);
                    self.body(schema);
                } else {
                    self.out.put_i8(-1);
                }
            }
            Kind::Array { of, .. } => {
                let count = self.draw.below(4) as usize;
                self.len(count, true);
                (0..count).for_each(|_| self.value(of));
            }
        }
    }

    fn tags(&mut self, schema: &'static Struct) {
        let mut known: Vec<_> = schema
            .tags
            .iter()
            .filter(|tag| self.version >= tag.since)
            .collect();
        known.retain(|_| self.draw.one_in(2));
        let unknown = if self.unknown_tags {
            self.draw.below(3)
        } else {
            0
        };
        self.out.put_u8(known.len() as u8 + unknown as u8);
        for tag in known {
            self.out.put_u8(tag.number as u8);
            let before = std::mem::take(&mut self.out);
            self.value(&tag.kind);
            let content = std::mem::replace(&mut self.out, before);
            super::super::fetch::put_uvarint(content.len(), &mut self.out);
            self.out.put_slice(&content);
        }
        for number in 0..unknown {
            self.out.put_u8(50 + number as u8);
            let len = self.draw.below(20) as u8;
            self.out.put_u8(len);
            self.out.put_bytes(9, usize::from(len));
        }
    }
}

fn body(draw: &mut Draw, key: ApiKey, version: i16, unknown_tags: bool) -> Bytes {
    let flexible = api::of(key).is_flexible(version);
    let out = BytesMut::new();
    let mut writer = Writer {
        out,
        draw,
        version,
        flexible,
        unknown_tags,
    };
    writer.body(schemas::of(key));
    writer.out.freeze()
}

fn frame(key: ApiKey, version: i16, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i16(key as i16);
    frame.put_i16(version);
    frame.put_i32(1);
    frame.put_i16(-1);
    if api::of(key).is_flexible(version) {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    frame.freeze()
}

/// Every served version of every API.
fn versions() -> impl Iterator<Item = (ApiKey, i16)> {
    api::APIS
        .iter()
        .flat_map(|api| (api.served_min..=api.served_max).map(move |version| (api.key, version)))
}

#[test]
fn the_guard_and_the_decoder_end_at_the_same_byte() {
    for (key, version) in versions() {
        for seed in 0..60 {
            let body = body(&mut Draw::new(seed), key, version, seed % 3 == 0);
            let place = format!("{key:?} version {version} seed {seed}");
            assert_eq!(check(key, version, &body), Ok(body.len()), "{place}");
            // The crate has no version 10 of these; of ListOffsets 10 and 11 are one layout.
            if version == 10 && matches!(key, ApiKey::OffsetCommit | ApiKey::OffsetFetch) {
                continue;
            }
            let layout = if key == ApiKey::ListOffsets {
                version.min(10)
            } else {
                version
            };
            let mut rest = body.clone();
            let request = Request::decode_guarded(key, layout, &mut rest);
            assert!(request.is_some(), "{place}: the crate refuses it");
            assert_eq!(rest.len(), 0, "{place}: the crate leaves bytes");
        }
    }
}

#[test]
fn a_request_decodes_with_bytes_behind_it_and_not_one_byte_short() {
    for (key, version) in versions() {
        for seed in 0..10 {
            let body = body(&mut Draw::new(seed), key, version, true);
            let place = format!("{key:?} version {version} seed {seed}");
            let whole = decode_request(&frame(key, version, &body)).expect(&place).1;
            assert_eq!(whole.key(), key);
            let mut longer = body.to_vec();
            longer.extend_from_slice(b"junk");
            assert_eq!(
                decode_request(&frame(key, version, &longer))
                    .expect(&place)
                    .1,
                whole
            );
            for cut in 0..body.len().min(400) {
                let cut_body = &body[..cut];
                let got = decode_request(&frame(key, version, cut_body));
                assert!(got.is_err(), "{place}: cut at {cut} of {}", body.len());
            }
        }
    }
}

#[test]
fn the_own_produce_decoder_agrees_with_the_message_crate() {
    for version in 3..=13 {
        for seed in 0..200 {
            let body = body(&mut Draw::new(seed), ApiKey::Produce, version, false);
            let own = super::super::produce::decode(version, &body).unwrap();
            let crates = Request::decode_guarded(ApiKey::Produce, version, &mut body.clone());
            assert_eq!(
                Some(Request::Produce(own)),
                crates,
                "version {version} seed {seed}"
            );
        }
    }
}

#[test]
fn damage_neither_panics_nor_takes_much_memory() {
    for (key, version) in versions() {
        for seed in 0..150 {
            let mut draw = Draw::new(seed);
            let mut body = body(&mut draw, key, version, true).to_vec();
            for _ in 0..=draw.below(4) {
                if body.is_empty() {
                    break;
                }
                let at = draw.below(body.len() as u64) as usize;
                match draw.below(4) {
                    0 => body[at] ^= 1 << draw.below(8),
                    1 => body[at] = [0, 0x7f, 0x80, 0xff][draw.below(4) as usize],
                    2 => body.truncate(at),
                    _ => body.insert(at, draw.next() as u8),
                }
            }
            let frame = frame(key, version, &body);
            let (_, peak) = peak_bytes(|| decode_request(&frame).is_ok());
            let bound = 16 * frame.len() + 4096;
            assert!(
                peak <= bound,
                "{key:?} {version} seed {seed}: {peak} bytes, over {bound}"
            );
        }
    }
}

#[test]
fn a_four_byte_metadata_body_that_asks_for_155_gb_is_refused() {
    let body = Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff]);
    let count = i32::MAX as usize;
    let refused = MalformedReason::CountTooLarge { count, left: 0 };
    assert_eq!(
        check(ApiKey::Metadata, 0, &body),
        Err(Malformed {
            at: 4,
            reason: refused
        })
    );
}

#[test]
fn a_body_of_tiny_elements_is_refused_when_they_grow_too_much() {
    let count: usize = 1_000_000;
    let mut body = BytesMut::new();
    body.put_i32(count as i32);
    body.put_bytes(0, 2 * count);
    let got = check(ApiKey::Metadata, 0, &body.freeze());
    assert!(matches!(
        got,
        Err(Malformed {
            reason: MalformedReason::TooCostly { .. },
            ..
        })
    ));
}

#[test]
fn a_megabyte_of_unknown_tags_is_refused() {
    let count: usize = 500_000;
    let mut body = BytesMut::new();
    body.put_slice(&[1, 1, 0, 0]);
    super::super::fetch::put_uvarint(count, &mut body);
    body.put_bytes(0, 2 * count);
    let got = check(ApiKey::Metadata, 9, &body.freeze());
    assert!(got.is_err(), "{got:?}");
}

#[test]
fn a_count_is_never_allocated_before_its_elements_are_there() {
    for (key, version) in versions() {
        for at in 0..40 {
            // 0x7f bytes read as huge counts in both layouts, wherever the counts are.
            let mut body = vec![0; at];
            body.extend_from_slice(&[0x7f; 5]);
            let frame = frame(key, version, &body);
            let (_, peak) = peak_bytes(|| decode_request(&frame).is_ok());
            assert!(peak <= 8192, "{key:?} {version} at {at}: {peak} bytes");
        }
    }
}
