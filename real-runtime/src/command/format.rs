//! The format of `consume -f`: one record as text.

use std::io::{self, Write};

use highwater_protocol::batch::WireRecord;

use super::failure::Failure;
use crate::time;

/// A format, taken apart.
pub struct Format(Vec<Piece>);

enum Piece {
    Text(Vec<u8>),
    Field(Field),
}

#[derive(Clone, Copy)]
enum Field {
    Topic,
    Partition,
    Offset,
    Key,
    KeyLen,
    Value,
    ValueLen,
    TimestampMs,
    Timestamp,
    Headers,
}

impl Format {
    /// Takes `text` apart: `%t` and so on, `\n`, `\t`, `\r`, `\0`, `\\`, `%%`.
    ///
    /// # Errors
    /// A sign that means nothing.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            let next = if matches!(letter, '%' | '\\') {
                letters.next()
            } else {
                None
            };
            let field = match (letter, next) {
                ('%', Some('t')) => Field::Topic,
                ('%', Some('p')) => Field::Partition,
                ('%', Some('o')) => Field::Offset,
                ('%', Some('k')) => Field::Key,
                ('%', Some('K')) => Field::KeyLen,
                ('%', Some('v' | 's')) => Field::Value,
                ('%', Some('V' | 'S')) => Field::ValueLen,
                ('%', Some('T')) => Field::TimestampMs,
                ('%', Some('D')) => Field::Timestamp,
                ('%', Some('h')) => Field::Headers,
                _ => {
                    plain.extend(plain_byte(letter, next)?);
                    continue;
                }
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Field(field));
        }
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// Writes `record` as the format says. A null key or value is empty.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(
        &self,
        out: &mut impl Write,
        topic: &str,
        partition: i32,
        record: &WireRecord,
    ) -> io::Result<()> {
        let len = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(-1, |b| b.len() as i64);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.write_all(text)?,
                Piece::Field(Field::Topic) => out.write_all(topic.as_bytes())?,
                Piece::Field(Field::Partition) => write!(out, "{partition}")?,
                Piece::Field(Field::Offset) => write!(out, "{}", record.offset)?,
                Piece::Field(Field::Key) => out.write_all(record.key.as_deref().unwrap_or(b""))?,
                Piece::Field(Field::KeyLen) => write!(out, "{}", len(&record.key))?,
                Piece::Field(Field::Value) => {
                    out.write_all(record.value.as_deref().unwrap_or(b""))?;
                }
                Piece::Field(Field::ValueLen) => write!(out, "{}", len(&record.value))?,
                Piece::Field(Field::TimestampMs) => write!(out, "{}", record.timestamp)?,
                Piece::Field(Field::Timestamp) => {
                    out.write_all(time::rfc3339(record.timestamp).as_bytes())?;
                }
                Piece::Field(Field::Headers) => write_headers(out, record)?,
            }
        }
        Ok(())
    }
}

fn plain_byte(letter: char, next: Option<char>) -> Result<Vec<u8>, Failure> {
    let plain = match (letter, next) {
        ('%', Some('%')) => '%',
        ('\\', Some('n')) => '\n',
        ('\\', Some('t')) => '\t',
        ('\\', Some('r')) => '\r',
        ('\\', Some('0')) => '\0',
        ('\\', Some('\\')) => '\\',
        ('%' | '\\', next) => {
            let sign: String = std::iter::once(letter).chain(next).collect();
            return Err(Failure::usage(format!(
                "{sign:?} in the format means nothing. Use %t topic, %p partition, %o offset, \
                 %k key, %K its length, %v value, %V its length, %T milliseconds, %D date, \
                 %h headers, %% and \\n \\t \\r \\0 \\\\."
            )));
        }
        (letter, _) => letter,
    };
    Ok(plain.to_string().into_bytes())
}

fn write_headers(out: &mut impl Write, record: &WireRecord) -> io::Result<()> {
    for (index, header) in record.headers.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        out.write_all(&header.key)?;
        if let Some(value) = &header.value {
            out.write_all(b"=")?;
            out.write_all(value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_written_as_the_format_says() {
        let record = WireRecord::new(0, None, Some("v".into()));
        let format = Format::parse(r"%t-%p\t%o %K:%k %v %T %D 100%%\n").expect("it is right");
        let mut out = Vec::new();
        format
            .write(&mut out, "a", 3, &record)
            .expect("memory takes it");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "a-3\t0 -1: v 0 1970-01-01T00:00:00.000Z 100%\n"
        );
    }

    #[test]
    fn a_sign_without_meaning_is_refused() {
        assert!(Format::parse("%x").is_err());
        assert!(Format::parse("100%").is_err());
    }
}
