//! Reading records back; bytes are judged, never trusted.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use highwater_types::TopicId;

use super::{
    Committed, GroupValue, KIND_GROUP, KIND_OFFSET, Key, MemberValue, NO_STRING, RecordError,
    VERSION,
};
use crate::Protocol;

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// [`RecordError`]: the partition's groups must not be served.
    pub fn decode(key: &Bytes) -> Result<Self, RecordError> {
        let mut input = Input::versioned(key)?;
        let kind = input.u8()?;
        let group = input.str()?;
        let key = match kind {
            KIND_GROUP => Self::Group(group),
            KIND_OFFSET => Self::Offset {
                group,
                topic: input.str()?,
                partition: input.u32()?,
            },
            _ => return Err(RecordError::Damaged),
        };
        input.end()?;
        Ok(key)
    }
}

impl GroupValue {
    /// Reads a group's value.
    ///
    /// # Errors
    /// [`RecordError`]: the partition's groups must not be served.
    pub fn decode(value: &Bytes) -> Result<Self, RecordError> {
        let mut input = Input::versioned(value)?;
        let (since_ms, generation) = (input.i64()?, input.i32()?);
        let (protocol_type, protocol_name) = (input.opt()?, input.opt()?);
        let leader = input.opt()?;
        let mut members = Vec::new();
        for _ in 0..input.u32()? {
            members.push(MemberValue::decode(&mut input)?);
        }
        input.end()?;
        Ok(Self {
            since_ms,
            generation,
            protocol_type,
            protocol_name,
            leader,
            members,
        })
    }
}

impl MemberValue {
    fn decode(input: &mut Input) -> Result<Self, RecordError> {
        let id = input.str()?;
        let instance_id = input.opt()?;
        let (client_id, client_host) = (input.str()?, input.str()?);
        let (session_timeout_ms, rebalance_timeout_ms) = (input.u32()?, input.u32()?);
        let mut protocols = Vec::new();
        for _ in 0..input.u16()? {
            protocols.push(Protocol {
                name: input.str()?,
                metadata: input.bytes()?,
            });
        }
        let assignment = input.bytes()?;
        Ok(Self {
            id,
            instance_id,
            client_id,
            client_host,
            session_timeout_ms,
            rebalance_timeout_ms,
            protocols,
            assignment,
        })
    }
}

impl Committed {
    /// Reads an offset's value.
    ///
    /// # Errors
    /// [`RecordError`]: the partition's groups must not be served.
    pub fn decode(value: &Bytes) -> Result<Self, RecordError> {
        let mut input = Input::versioned(value)?;
        let committed = Self {
            offset: input.i64()?,
            leader_epoch: input.i32()?,
            topic_id: TopicId(input.id()?),
            committed_ms: input.i64()?,
            expires_ms: Some(input.i64()?).filter(|at_ms| *at_ms >= 0),
            metadata: input.str()?,
        };
        input.end()?;
        Ok(committed)
    }
}

/// Bytes not read yet.
struct Input(Bytes);

impl Input {
    /// Starts behind the version.
    fn versioned(bytes: &Bytes) -> Result<Self, RecordError> {
        let mut input = Self(bytes.clone());
        match input.u8()? {
            VERSION => Ok(input),
            0 => Err(RecordError::Damaged),
            newer => Err(RecordError::Newer(newer)),
        }
    }

    fn u8(&mut self) -> Result<u8, RecordError> {
        self.0.try_get_u8().map_err(|_| RecordError::Damaged)
    }

    fn u16(&mut self) -> Result<u16, RecordError> {
        self.0.try_get_u16().map_err(|_| RecordError::Damaged)
    }

    fn u32(&mut self) -> Result<u32, RecordError> {
        self.0.try_get_u32().map_err(|_| RecordError::Damaged)
    }

    fn i32(&mut self) -> Result<i32, RecordError> {
        self.0.try_get_i32().map_err(|_| RecordError::Damaged)
    }

    fn i64(&mut self) -> Result<i64, RecordError> {
        self.0.try_get_i64().map_err(|_| RecordError::Damaged)
    }

    fn id(&mut self) -> Result<[u8; 16], RecordError> {
        let mut id = [0; 16];
        self.0
            .try_copy_to_slice(&mut id)
            .map_err(|_| RecordError::Damaged)?;
        Ok(id)
    }

    fn take(&mut self, len: usize) -> Result<Bytes, RecordError> {
        if len > self.0.len() {
            return Err(RecordError::Damaged);
        }
        // Copied: the state must not keep a whole segment's view alive for a few bytes.
        Ok(Bytes::copy_from_slice(&self.0.split_to(len)))
    }

    fn str(&mut self) -> Result<Arc<str>, RecordError> {
        self.opt()?.ok_or(RecordError::Damaged)
    }

    fn opt(&mut self) -> Result<Option<Arc<str>>, RecordError> {
        let len = self.u16()?;
        if len == NO_STRING {
            return Ok(None);
        }
        let bytes = self.take(usize::from(len))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| RecordError::Damaged)?;
        Ok(Some(Arc::from(text)))
    }

    fn bytes(&mut self) -> Result<Bytes, RecordError> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    fn end(&self) -> Result<(), RecordError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(RecordError::Damaged)
        }
    }
}
