//! Request headers v1 and v2, response headers v0 and v1.
//!
//! ```text
//! request:  api key i16 | version i16 | correlation id i32 | client id nullable string | v2: tags
//! response: correlation id i32 | v1: tags
//! ```
//!
//! Source: KIP-482 for the tags, KIP-511 for ApiVersions, whose response always has header v0.

use bytes::Bytes;

use super::StrBytes;
use super::api::{self, ApiKey};
use super::error::{Malformed, MessageError};
use super::reader::Reader;

/// Who asks, what, and in which version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The asked API, one that we serve.
    pub key: ApiKey,
    /// The asked version, one that we serve.
    pub version: i16,
    /// The request's number on its connection; its answer carries it.
    pub correlation_id: i32,
    /// What the client calls itself. Bytes that are not UTF-8 were replaced.
    pub client_id: Option<StrBytes>,
}

impl RequestHeader {
    /// Reads the header at the start of `frame`; answers it with its length in bytes.
    ///
    /// The header alone decides: a client may skip ApiVersions (`kafka.md` rule 128).
    ///
    /// # Errors
    /// [`MessageError`]: what to do stands there.
    pub fn decode(frame: &Bytes) -> Result<(Self, usize), MessageError> {
        let mut reader = Reader::new(frame);
        let key = reader.i16().map_err(MessageError::Header)?;
        let version = reader.i16().map_err(MessageError::Header)?;
        let correlation_id = reader.i32().map_err(MessageError::Header)?;
        let api = api::find(key).ok_or(MessageError::UnknownApi { key })?;
        let too_new = api.key == ApiKey::ApiVersions && version > api.served_max;
        if !too_new && !api.serves(version) {
            return Err(MessageError::UnsupportedVersion {
                key: api.key,
                version,
            });
        }
        let client_id = client_id(&mut reader, frame).map_err(MessageError::Header)?;
        if api.is_flexible(version) {
            reader.skip_tags().map_err(MessageError::Header)?;
        }
        if too_new {
            return Err(MessageError::ApiVersionsTooNew {
                version,
                correlation_id,
            });
        }
        Ok((
            Self {
                key: api.key,
                version,
                correlation_id,
                client_id,
            },
            reader.at(),
        ))
    }
}

/// The client id: never compact, in header v2 neither.
fn client_id(reader: &mut Reader<'_>, frame: &Bytes) -> Result<Option<StrBytes>, Malformed> {
    let Some(len) = reader.skip_string(false)? else {
        return Ok(None);
    };
    let id = frame.slice(reader.at() - len..reader.at());
    Ok(Some(match StrBytes::from_utf8(id.clone()) {
        Ok(id) => id,
        Err(_) => StrBytes::from_string(String::from_utf8_lossy(&id).into_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(key: i16, version: i16, rest: &[u8]) -> Result<(RequestHeader, usize), MessageError> {
        let mut frame = Vec::new();
        frame.extend_from_slice(&key.to_be_bytes());
        frame.extend_from_slice(&version.to_be_bytes());
        frame.extend_from_slice(&7i32.to_be_bytes());
        frame.extend_from_slice(rest);
        RequestHeader::decode(&Bytes::from(frame))
    }

    #[test]
    fn a_client_id_may_be_null_and_need_not_be_utf8() {
        let (null, len) = header(3, 0, &[0xff, 0xff, 1, 2]).unwrap();
        assert_eq!((null.client_id, len), (None, 10));
        let (odd, len) = header(3, 0, &[0, 2, b'a', 0xfe]).unwrap();
        assert_eq!((odd.client_id.as_deref(), len), (Some("a\u{fffd}"), 12));
    }

    #[test]
    fn a_flexible_version_has_tags_in_its_header() {
        let (_, len) = header(3, 9, &[0, 0, 1, 5, 2, 0, 0, 99]).unwrap();
        assert_eq!(len, 15);
        let (_, len) = header(3, 8, &[0, 0, 1, 5, 2, 0, 0, 99]).unwrap();
        assert_eq!(len, 10);
    }

    #[test]
    fn unknown_keys_and_versions_are_named() {
        let key = MessageError::UnknownApi { key: 4 };
        assert_eq!(header(4, 0, &[]), Err(key));
        let version = MessageError::UnsupportedVersion {
            key: ApiKey::Produce,
            version: 2,
        };
        assert_eq!(header(0, 2, &[0, 0]), Err(version));
        let negative = MessageError::UnsupportedVersion {
            key: ApiKey::ApiVersions,
            version: -1,
        };
        assert_eq!(header(18, -1, &[0, 0]), Err(negative));
    }

    #[test]
    fn a_newer_api_versions_is_answered_only_with_a_whole_v2_header() {
        let newer = MessageError::ApiVersionsTooNew {
            version: 99,
            correlation_id: 7,
        };
        assert_eq!(header(18, 99, &[0, 0, 0]), Err(newer));
        assert!(matches!(
            header(18, 99, &[0, 0]),
            Err(MessageError::Header(_))
        ));
    }

    #[test]
    fn every_cut_of_a_header_is_refused() {
        let whole = [0, 3, 0, 9, 0, 0, 0, 7, 0, 2, b'a', b'b', 1, 5, 2, 0, 0];
        for cut in 0..whole.len() {
            let got = RequestHeader::decode(&Bytes::copy_from_slice(&whole[..cut]));
            assert!(
                matches!(got, Err(MessageError::Header(_))),
                "cut at {cut}: {got:?}"
            );
        }
    }
}
