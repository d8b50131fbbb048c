//! ApiVersions: what this broker serves (kafka rules 125 and 127).

use std::sync::Arc;

use highwater_protocol::message::api::APIS;
use highwater_protocol::message::messages::api_versions_response::ApiVersion;
use highwater_protocol::message::messages::{ApiVersionsRequest, ApiVersionsResponse};
use highwater_runtime::Runtime;

use crate::Broker;
use crate::context::Context;
use crate::error_code::ResponseError;

/// Lists every API with its versions. A client that names itself badly gets 42 and nothing else
/// (section 4 item 42).
pub(crate) async fn handle<R: Runtime>(
    _broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: ApiVersionsRequest,
) -> ApiVersionsResponse {
    let named = |name: &str| is_software_word(name);
    let bad_name =
        !named(&request.client_software_name) || !named(&request.client_software_version);
    if context.version() >= 3 && bad_name {
        return ApiVersionsResponse::default()
            .with_error_code(ResponseError::InvalidRequest.code());
    }
    let keys = APIS.iter().map(|api| {
        ApiVersion::default()
            .with_api_key(api.key as i16)
            .with_min_version(api.advertised_min)
            .with_max_version(api.served_max)
    });
    ApiVersionsResponse::default().with_api_keys(keys.collect())
}

/// Letters and digits with `-` and `.` between them. Source: KIP-511.
fn is_software_word(word: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = word.as_bytes();
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}

#[cfg(test)]
mod tests {
    use super::is_software_word;

    #[test]
    fn software_words_start_and_end_with_a_letter_or_digit() {
        for good in ["librdkafka", "apache-kafka-java", "4.3.1", "a"] {
            assert!(is_software_word(good), "{good}");
        }
        for bad in ["", "-a", "a.", "a b", "a/b", "é"] {
            assert!(!is_software_word(bad), "{bad}");
        }
    }
}
