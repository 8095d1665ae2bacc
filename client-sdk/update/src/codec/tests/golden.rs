//! The bytes of each codec must not change: updates are stored, and clients can be older than their coordinator.

use super::support::{CODECS, recipe, schema, vector};
use crate::codec::{decode, encode};

#[test]
fn the_bytes_of_every_codec_stay() {
    let expected = include_str!("../../../fixtures/golden.txt");
    let schema = schema(&[&[10, 15], &[]]);
    let values = &vector("gauss")[..151];
    let mut found = String::new();
    for text in CODECS {
        let bytes = encode(&schema, &recipe(text), values, 0x0123_4567_89ab_cdef, None).unwrap().bytes;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        found += &format!("{text} {hex}\n");
        let decoded = decode(&schema, &bytes).unwrap();
        let bits: String = decoded.iter().map(|value| format!("{:08x}", value.to_bits())).collect();
        found += &format!("{text} = {bits}\n");
    }
    if std::env::var_os("GOLDEN_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/golden.txt");
        std::fs::write(path, &found).unwrap();
        return;
    }
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
