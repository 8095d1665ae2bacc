//! Tests the bytes of an update, and the digests of its schema and content.

use folkmoot_protocol::{
    BlobDigest, UpdateDigest,
    update::{
        HEADER_BYTES, UpdateHeader, UpdateMetrics,
        sums::{ClassParts, MetricSums},
    },
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

/// Tests the bytes that follow the header of an evaluation's update.
#[test]
fn the_bytes_of_the_sums_of_an_evaluation_are_the_committed_ones() {
    let header = UpdateHeader { element_count: 0, ..header() };
    let update = |sums: &MetricSums| {
        let mut bytes = encode_update(&header, &[]);
        sums.append_to(&mut bytes);
        assert_eq!(MetricSums::decode(&bytes[HEADER_BYTES..]).as_ref(), Ok(sums));
        hex_lines(&bytes)
    };
    let at_rank = [600, 100, 50, 0, 0, 0, 0, 0, 0, 0];
    let table = [300, 0, 0, 0, 200, 50, 0, 100, 100];
    let parts = ClassParts { count: 750, at_rank: &at_rank, table: &table, positive: &[], negative: &[] };
    let classes = MetricSums::Classes { classes: 3, counts: parts.to_counts() };
    assert_golden("evaluation_of_classes.hex", &update(&classes));
    let values = MetricSums::Values { sums: vec![2.5, 0.5, 40.0, 10.0, -7.25, 0.0, 99.5, 1e-20] };
    assert_golden("evaluation_of_values.hex", &update(&values));
}
