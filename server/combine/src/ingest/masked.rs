use folkmoot_protocol::{
    ErrorCode,
    secure::{MASKED_HEADER_BYTES, MaskedHeader},
};

use super::ExpectedUpdate;
use crate::refusal::Refusal;

/// Checks a masked update as it arrives. Only its header can be checked: any bytes may be masked values.
#[derive(Default)]
pub struct MaskedDecoder {
    header: Vec<u8>,
}

impl MaskedDecoder {
    /// Processes the next bytes.
    ///
    /// # Errors
    /// A refusal if the header is not the one of this assignment's update.
    pub fn push(&mut self, bytes: &[u8], expected: &ExpectedUpdate) -> Result<(), Refusal> {
        let missing = MASKED_HEADER_BYTES - self.header.len();
        if missing == 0 {
            return Ok(());
        }
        self.header.extend_from_slice(&bytes[..missing.min(bytes.len())]);
        let Some(header) = self.header.first_chunk() else { return Ok(()) };
        let header = MaskedHeader::decode(header);
        let header =
            header.map_err(|error| Refusal::new(ErrorCode::UpdateCodecUnsupported, error.to_string()))?;
        let MaskedHeader { assignment_id, schema_digest, base_version, element_count } = header;
        expected.check_origin(assignment_id, (schema_digest, element_count), base_version)
    }

    /// Returns whether the header has arrived.
    pub fn has_header(&self) -> bool {
        self.header.len() == MASKED_HEADER_BYTES
    }
}
