//! An operator deletes records before an offset (DeleteRecords, rule 92).

use std::sync::Arc;

use highwater_runtime::Runtime;
use highwater_types::Offset;

use crate::{OffsetError, Partition, Status};

impl<R: Runtime> Partition<R> {
    /// Deletes the records before `to` (`None`: before the high watermark) and answers the low
    /// watermark. Going backwards succeeds and changes nothing (section 4 item 24). The new start
    /// is durable when this returns.
    ///
    /// # Errors
    /// [`OffsetError::OutOfRange`] past the high watermark; the log's own errors.
    pub async fn trim(self: &Arc<Self>, to: Option<Offset>) -> Result<Offset, OffsetError> {
        {
            let mut state = self.lock();
            match &state.status {
                Status::Online => {}
                Status::Offline(why) => return Err(OffsetError::Offline(why.clone())),
                Status::Deleted => return Err(OffsetError::Deleted),
            }
            let offsets = state.offsets;
            let to = to.unwrap_or(offsets.high_watermark);
            if to > offsets.high_watermark {
                let (start, end) = (offsets.start, offsets.high_watermark);
                return Err(OffsetError::OutOfRange {
                    asked: to,
                    start,
                    end,
                });
            }
            if to <= offsets.start {
                return Ok(offsets.start);
            }
            let start = state.log.delete_before(to)?;
            state.offsets.trimmed(start);
            state.tail.trim(start);
        }
        self.sync_now().await;
        match self.status() {
            Status::Online => Ok(self.offsets().start),
            Status::Offline(why) => Err(OffsetError::Offline(why)),
            Status::Deleted => Err(OffsetError::Deleted),
        }
    }
}
