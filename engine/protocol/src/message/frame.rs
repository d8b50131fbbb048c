//! The 4-byte length in front of every request and answer.

use super::MessageError;

/// Bytes of the length in front of a frame.
pub const FRAME_LEN_BYTES: usize = 4;

/// How many bytes follow `prefix`; at most `max` (`socket.request.max.bytes`).
///
/// The claim says nothing about memory: read as bytes arrive, never allocate the whole at once.
///
/// # Errors
/// [`MessageError::FrameSize`] for 0, negative and larger lengths: close the connection.
pub fn frame_len(prefix: [u8; FRAME_LEN_BYTES], max: usize) -> Result<usize, MessageError> {
    let size = i32::from_be_bytes(prefix);
    match usize::try_from(size) {
        Ok(len) if len > 0 && len <= max => Ok(len),
        _ => Err(MessageError::FrameSize { size, max }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_len_takes_one_byte_to_max_and_nothing_else() {
        assert_eq!(frame_len(1i32.to_be_bytes(), 100), Ok(1));
        assert_eq!(frame_len(100i32.to_be_bytes(), 100), Ok(100));
        for size in [0, -1, 101, i32::MIN, i32::MAX] {
            let refused = Err(MessageError::FrameSize { size, max: 100 });
            assert_eq!(frame_len(size.to_be_bytes(), 100), refused);
        }
    }
}
