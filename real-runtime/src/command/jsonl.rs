//! Records as JSON, one a line: what `consume -o jsonl` writes, `produce -i jsonl` reads back
//! byte by byte.
//!
//! ```text
//! {"topic":"t","partition":0,"offset":7,"timestamp":1796069847123,
//!  "key":"k","value":null,"headers":[{"key":"h","value_base64":"/w=="}]}
//! ```
//! Bytes that are UTF-8 stand as they are under `key` and `value`; others in base 64 under
//! `key_base64` and `value_base64`. `null` and a missing field both mean null.

use bytes::Bytes;
use highwater_protocol::batch::{WireHeader, WireRecord};
use serde_json::{Map, Value, json};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `record` of `topic` as JSON.
#[must_use]
pub fn write(topic: &str, partition: i32, record: &WireRecord) -> Value {
    let mut fields = Map::new();
    fields.insert("topic".to_owned(), json!(topic));
    fields.insert("partition".to_owned(), json!(partition));
    fields.insert("offset".to_owned(), json!(record.offset));
    fields.insert("timestamp".to_owned(), json!(record.timestamp));
    put(&mut fields, "key", record.key.as_ref());
    put(&mut fields, "value", record.value.as_ref());
    let header = |header: &WireHeader| {
        let mut fields = Map::new();
        put(&mut fields, "key", Some(&header.key));
        put(&mut fields, "value", header.value.as_ref());
        Value::Object(fields)
    };
    fields.insert(
        "headers".to_owned(),
        record.headers.iter().map(header).collect(),
    );
    Value::Object(fields)
}

/// The record of one line, and its partition when the line names one. A record without a
/// timestamp gets `now_ms`.
///
/// # Errors
/// What is wrong with the line.
pub fn read(line: &[u8], now_ms: i64) -> Result<(WireRecord, Option<i32>), String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let Value::Object(fields) = value else {
        return Err("it is no JSON object".to_owned());
    };
    let timestamp = match fields.get("timestamp") {
        None | Some(Value::Null) => now_ms,
        Some(value) => value.as_i64().ok_or("timestamp is no whole number")?,
    };
    let partition = match fields.get("partition") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
            Some(number.ok_or("partition is no partition number")?)
        }
    };
    let mut record = WireRecord::new(timestamp, take(&fields, "key")?, take(&fields, "value")?);
    match fields.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(headers)) => {
            for header in headers {
                let header = header.as_object().ok_or("a header is no JSON object")?;
                let key = take(header, "key")?.ok_or("a header has no key")?;
                record.headers.push(WireHeader {
                    key,
                    value: take(header, "value")?,
                });
            }
        }
        Some(_) => return Err("headers is no array".to_owned()),
    }
    Ok((record, partition))
}

fn put(fields: &mut Map<String, Value>, name: &str, bytes: Option<&Bytes>) {
    match bytes.map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
        None => fields.insert(name.to_owned(), Value::Null),
        Some(Ok(text)) => fields.insert(name.to_owned(), json!(text)),
        Some(Err(bytes)) => fields.insert(format!("{name}_base64"), json!(to_base64(bytes))),
    };
}

fn take(fields: &Map<String, Value>, name: &str) -> Result<Option<Bytes>, String> {
    let encoded = format!("{name}_base64");
    match (fields.get(name), fields.get(&encoded)) {
        (None | Some(Value::Null), None | Some(Value::Null)) => Ok(None),
        (Some(Value::String(text)), None) => Ok(Some(Bytes::from(text.clone()))),
        (None, Some(Value::String(text))) => {
            let bytes = from_base64(text).ok_or(format!("{encoded} is not base 64"))?;
            Ok(Some(Bytes::from(bytes)))
        }
        (Some(_), Some(_)) => Err(format!("both {name} and {encoded} are set")),
        _ => Err(format!("{name} is no text")),
    }
}

/// Source: RFC 4648, section 4.
fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut word = 0u32;
        for at in 0..3 {
            word = word << 8 | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() {
                letter.into()
            } else {
                '='
            });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let padding = text.len() - letters.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    for group in letters.chunks(4) {
        let mut word = 0u32;
        for letter in group {
            let digit = ALPHABET.iter().position(|known| known == letter)?;
            word = word << 6 | u32::try_from(digit).expect("below 64");
        }
        word <<= 6 * (4 - group.len());
        bytes.extend(&word.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_comes_back_as_it_was() {
        let bytes = |bytes: &'static [u8]| Some(Bytes::from_static(bytes));
        let mut record = WireRecord::new(-1, bytes(b"\xff\x00k"), bytes(b""));
        record.headers.push(WireHeader {
            key: Bytes::from_static(b"h"),
            value: None,
        });
        record.headers.push(WireHeader {
            key: Bytes::from_static(b"h"),
            value: bytes(b"\xfe"),
        });
        record.headers.push(WireHeader {
            key: Bytes::from_static(b"\xc3"),
            value: bytes(b"\"\n"),
        });
        let line = write("t", 3, &record).to_string();
        assert_eq!(read(line.as_bytes(), 99), Ok((record, Some(3))));
        let empty = WireRecord::new(99, None, None);
        assert_eq!(read(b"{}", 99), Ok((empty, None)));
    }

    /// Source: RFC 4648, section 10.
    #[test]
    fn base_64_is_the_usual_one() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(to_base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        for bad in ["Z", "Zg=", "Zg", "Zg==Zg==", "Z===", "Zm9-"] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong_with_it() {
        for (line, why) in [
            ("[]", "it is no JSON object"),
            (r#"{"key":1}"#, "key is no text"),
            (
                r#"{"key":"a","key_base64":"YQ=="}"#,
                "both key and key_base64 are set",
            ),
            (r#"{"headers":[{}]}"#, "a header has no key"),
        ] {
            assert_eq!(read(line.as_bytes(), 0), Err(why.to_owned()), "{line}");
        }
    }
}
