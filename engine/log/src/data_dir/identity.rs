//! `highwater.meta`: whose data folder this is.
//!
//! ```text
//! "HWDD" | version u8 (1) | node_id u32 | cluster_len u16 | cluster_id | crc u32
//! ```

use bytes::{BufMut, Bytes};
use highwater_runtime::{DirEntry, Disk, Runtime};
use highwater_types::BrokerId;

use super::{DataDirError, DataDirOptions, META};
use crate::coding::{self, Opened, Take};

const MAGIC: [u8; 4] = *b"HWDD";
const VERSION: u8 = 1;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) node_id: BrokerId,
    pub(super) cluster_id: String,
}

/// Reads whose folder it is, or says so durably in an empty one; answers whether it did.
pub(super) async fn load_or_make<R: Runtime>(
    rt: &R,
    options: &DataDirOptions,
    entries: &[DirEntry],
) -> Result<(Identity, bool), DataDirError> {
    if entries.iter().any(|entry| entry.name == META) {
        let identity = decode(&rt.disk().read(META)?)?;
        return check(identity, options).map(|identity| (identity, false));
    }
    let is_ignored = |name: &str| {
        // `highwater.meta` is published: what a crashed first start left of it begins with it.
        name.starts_with('.')
            || name.starts_with(META)
            || name == "lost+found"
            || options.ignored.iter().any(|ignored| ignored == name)
    };
    if let Some(entry) = entries.iter().find(|entry| !is_ignored(&entry.name)) {
        return Err(DataDirError::Foreign {
            found: entry.name.clone(),
        });
    }
    let cluster_id = options
        .cluster_id
        .clone()
        .unwrap_or_else(|| new_cluster_id(rt));
    let identity = Identity {
        node_id: options.node_id,
        cluster_id,
    };
    rt.disk().publish(META, encode(&identity)).await?;
    Ok((identity, true))
}

fn check(identity: Identity, options: &DataDirOptions) -> Result<Identity, DataDirError> {
    if identity.node_id != options.node_id {
        return Err(DataDirError::OtherNode {
            file: META.to_owned(),
            found: identity.node_id,
            expected: options.node_id,
        });
    }
    match &options.cluster_id {
        Some(expected) if *expected != identity.cluster_id => Err(DataDirError::OtherCluster {
            file: META.to_owned(),
            found: identity.cluster_id,
            expected: expected.clone(),
        }),
        _ => Ok(identity),
    }
}

/// 22 characters, as Kafka writes 128 random bits.
fn new_cluster_id<R: Runtime>(rt: &R) -> String {
    let (high, low) = (rt.draw("cluster-id"), rt.draw("cluster-id"));
    let bits = (u128::from(high) << 64) | u128::from(low);
    (0..22)
        .map(|at| char::from(DIGITS[(bits >> (at * 6)) as usize % DIGITS.len()]))
        .collect()
}

pub(super) fn encode(identity: &Identity) -> Bytes {
    let mut out = coding::begin(MAGIC, VERSION);
    out.put_u32(identity.node_id.0);
    let cluster_id = identity.cluster_id.as_bytes();
    out.put_u16(u16::try_from(cluster_id.len()).expect("a cluster id is short"));
    out.put_slice(cluster_id);
    coding::finish(out)
}

pub(super) fn decode(content: &[u8]) -> Result<Identity, DataDirError> {
    let file = || META.to_owned();
    match coding::open(MAGIC, VERSION, content) {
        Opened::Body(body) => body_of(body).ok_or(DataDirError::Damaged { file: file() }),
        Opened::OtherVersion(version) => Err(DataDirError::Newer {
            file: file(),
            version,
        }),
        Opened::Damaged => Err(DataDirError::Damaged { file: file() }),
    }
}

fn body_of(body: &[u8]) -> Option<Identity> {
    let mut take = Take(body);
    let node_id = BrokerId(take.u32()?);
    let len = take.u16()?;
    let cluster_id = String::from_utf8(take.bytes(usize::from(len))?.to_vec()).ok()?;
    take.done()?;
    Some(Identity {
        node_id,
        cluster_id,
    })
}
