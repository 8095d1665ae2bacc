//! Tests the bytes of an update, and the digests of its schema and content.

use folkmoot_protocol::{
    BlobDigest, UpdateDigest,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_update::encode_update;

use super::{assert_golden, fixtures, hex_lines};

fn header() -> UpdateHeader {
    UpdateHeader {
        assignment_id: fixtures::assignment_id(),
        schema_digest: fixtures::schema().digest(),
        base_version: 4,
        weight: 250,
        metrics: UpdateMetrics { example_count: 750, loss_sum: 321.5, correct_count: 600, step_count: 48 },
        element_count: 11,
        is_compressed: false,
    }
}

fn values() -> [f32; 11] {
    let subnormal = f32::from_bits(1);
    [0.0, -0.0, 1.0, -1.0, 0.1, -16.0, 16.0, subnormal, f32::MIN_POSITIVE, std::f32::consts::PI, -1e-20]
}

#[test]
fn the_bytes_of_an_update_are_the_committed_ones() {
    let bytes = encode_update(&header(), &values());
    assert_golden("update.hex", &hex_lines(&bytes));
    let read = UpdateHeader::decode(bytes.first_chunk::<HEADER_BYTES>().unwrap());
    assert_eq!(read, Ok(header()));
}

#[test]
fn the_digests_are_the_committed_ones() {
    let bytes = encode_update(&header(), &values());
    let schema: String = fixtures::schema().digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!(
        "schema {schema}\nupdate {}\nblob {}\n",
        UpdateDigest::of(&bytes),
        BlobDigest::of(b"weights")
    );
    assert_golden("digests.txt", &text);
}
