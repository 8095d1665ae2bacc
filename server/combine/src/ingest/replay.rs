use std::ops::Range;

use folkmoot_protocol::{
    AssignmentId, RoundId,
    saturating::to_length,
    secure::MASKED_MAGIC,
    update::{HEADER_BYTES, UpdateHeader},
};
use folkmoot_round_log::{RoundLog, RoundLogError};

use super::Ingest;
use crate::refusal::Refusal;

/// The number of bytes to read from the log at a time; a multiple of a value's 4 bytes.
const TILE_BYTES: usize = 256 * 1024;

/// Reads the bytes `range` of a logged update and passes them to `visit` in order, one tile at a time.
///
/// # Errors
/// Fails if the log cannot be read, or is shorter than the range.
pub fn read_tiles(
    log: &RoundLog,
    round: RoundId,
    assignment: AssignmentId,
    range: Range<u64>,
    visit: &mut dyn FnMut(&[u8]),
) -> Result<(), RoundLogError> {
    let mut reader = log.read(round, assignment)?;
    if reader.len() < range.end {
        return Err(RoundLogError::TooShort { len: reader.len(), wanted: range.end });
    }
    reader.seek(range.start)?;
    let mut left = range.end - range.start;
    let mut tile = vec![0; TILE_BYTES.min(to_length(left))];
    while left > 0 {
        let want = tile.len().min(to_length(left));
        let count = reader.read_tile(&mut tile[..want])?;
        if count < want {
            return Err(RoundLogError::TooShort { len: range.end - left + count as u64, wanted: range.end });
        }
        visit(&tile[..count]);
        left -= count as u64;
    }
    Ok(())
}

/// Returns the number of bytes of an assignment's update that need not be sent again: the header and the complete
/// values in the log. Returns 0 for a compressed update, because the log does not show how many of its bytes had
/// arrived.
///
/// # Errors
/// Fails if the log cannot be read.
pub fn logged(ingest: &Ingest, round: RoundId, id: AssignmentId) -> Result<u64, Refusal> {
    let logged = match ingest.log().read(round, id) {
        Ok(reader) => reader.len(),
        Err(RoundLogError::NotFound(_)) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let header_bytes = HEADER_BYTES as u64;
    let mut header = Vec::new();
    read_tiles(ingest.log(), round, id, 0..logged.min(header_bytes), &mut |tile| {
        header.extend_from_slice(tile);
    })?;
    // Every byte of a masked update is stored as it came.
    if header.starts_with(&MASKED_MAGIC) {
        return Ok(logged);
    }
    // A crash during a write may have left an incomplete header or value.
    let header = header.first_chunk().and_then(|bytes| UpdateHeader::decode(bytes).ok());
    Ok(match header {
        Some(header) if !header.is_compressed => header_bytes + (logged - header_bytes) / 4 * 4,
        _ => 0,
    })
}
