use folkmoot_protocol::update::{HEADER_BYTES, UpdateHeader};

/// Writes an update: the header, then `values` as little-endian float32.
///
/// `header.element_count` is taken from `values`, so that the two cannot differ.
pub fn encode_update(header: &UpdateHeader, values: &[f32]) -> Vec<u8> {
    let header = UpdateHeader { element_count: values.len() as u64, ..header.clone() };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + values.len() * 4);
    bytes.extend_from_slice(&header.encode());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}
