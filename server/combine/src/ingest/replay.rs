use std::ops::Range;

use folkmoot_protocol::{AssignmentId, RoundId, saturating::to_length};
use folkmoot_round_log::{RoundLog, RoundLogError};

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
