//! Every API that we serve: its key, its versions, and since when they are flexible.
//!
//! The ranges are those of Kafka 4.3 (`kafka.md` section 2): full ranges, because old and new
//! clients squeeze from both sides.

pub use kafka_protocol::messages::ApiKey;

/// One API and its versions.
#[derive(Clone, Copy, Debug)]
pub struct Api {
    /// Which API.
    pub key: ApiKey,
    /// The lowest version that ApiVersions lists.
    pub advertised_min: i16,
    /// The lowest version that is served.
    pub served_min: i16,
    /// The highest version that is listed and served.
    pub served_max: i16,
    /// The first version with compact lengths and tagged fields; `i16::MAX` when there is none.
    pub flexible_min: i16,
}

impl Api {
    /// Whether `version` is served.
    #[must_use]
    pub fn serves(&self, version: i16) -> bool {
        (self.served_min..=self.served_max).contains(&version)
    }

    /// Whether `version` has compact lengths, tagged fields, and request header v2.
    #[must_use]
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_min
    }

    /// Whether the response to `version` has header v1, with tagged fields.
    ///
    /// Source: KIP-511: the client of an ApiVersions answer does not know our version yet.
    #[must_use]
    pub fn response_header_has_tags(&self, version: i16) -> bool {
        self.is_flexible(version) && self.key != ApiKey::ApiVersions
    }
}

/// `key`, served from `min` to `max`, flexible from `flexible_min` on.
const fn api(key: ApiKey, min: i16, max: i16, flexible_min: i16) -> Api {
    Api {
        key,
        advertised_min: min,
        served_min: min,
        served_max: max,
        flexible_min,
    }
}

const NEVER: i16 = i16::MAX;

/// Every API that we serve, by key.
///
/// Produce is listed from 0 on though served from 3: older librdkafka tests "lowest version <=
/// what the codec needs" and would silently drop compression (`kafka.md` rule 127).
pub static APIS: [Api; 29] = [
    Api {
        advertised_min: 0,
        ..api(ApiKey::Produce, 3, 13, 9)
    },
    api(ApiKey::Fetch, 4, 18, 12),
    api(ApiKey::ListOffsets, 1, 11, 6),
    api(ApiKey::Metadata, 0, 13, 9),
    api(ApiKey::OffsetCommit, 2, 10, 8),
    api(ApiKey::OffsetFetch, 1, 10, 6),
    api(ApiKey::FindCoordinator, 0, 6, 3),
    api(ApiKey::JoinGroup, 0, 9, 6),
    api(ApiKey::Heartbeat, 0, 4, 4),
    api(ApiKey::LeaveGroup, 0, 5, 4),
    api(ApiKey::SyncGroup, 0, 5, 4),
    api(ApiKey::DescribeGroups, 0, 6, 5),
    api(ApiKey::ListGroups, 0, 5, 3),
    api(ApiKey::ApiVersions, 0, 4, 3),
    api(ApiKey::CreateTopics, 2, 7, 5),
    api(ApiKey::DeleteTopics, 1, 6, 4),
    api(ApiKey::DeleteRecords, 0, 2, 2),
    api(ApiKey::InitProducerId, 0, 5, 2),
    api(ApiKey::OffsetForLeaderEpoch, 2, 4, 4),
    api(ApiKey::DescribeConfigs, 1, 4, 4),
    api(ApiKey::AlterConfigs, 0, 2, 2),
    api(ApiKey::DescribeLogDirs, 1, 4, 2),
    api(ApiKey::CreatePartitions, 0, 3, 2),
    api(ApiKey::DeleteGroups, 0, 2, 2),
    api(ApiKey::IncrementalAlterConfigs, 0, 1, 1),
    api(ApiKey::ListPartitionReassignments, 0, 0, 0),
    api(ApiKey::OffsetDelete, 0, 0, NEVER),
    api(ApiKey::DescribeCluster, 0, 2, 0),
    api(ApiKey::DescribeTopicPartitions, 0, 0, 0),
];

/// The API with wire key `key`, if we serve it.
#[must_use]
pub fn find(key: i16) -> Option<&'static Api> {
    APIS.iter().find(|api| api.key as i16 == key)
}

/// The entry of an API that we serve.
///
/// # Panics
/// When `key` is not in [`APIS`]: a handler cannot answer what was never decoded.
#[must_use]
pub fn of(key: ApiKey) -> &'static Api {
    find(key as i16).expect("only served APIs are answered")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_are_sorted_and_unique() {
        let keys: Vec<i16> = APIS.iter().map(|api| api.key as i16).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(keys, sorted);
    }

    #[test]
    fn headers_agree_with_the_message_crate() {
        for api in &APIS {
            for version in api.served_min..=api.served_max {
                let request = if api.is_flexible(version) { 2 } else { 1 };
                let response = i16::from(api.response_header_has_tags(version));
                assert_eq!(
                    api.key.request_header_version(version),
                    request,
                    "{api:?} {version}"
                );
                assert_eq!(
                    api.key.response_header_version(version),
                    response,
                    "{api:?} {version}"
                );
            }
        }
    }
}
