//! Tests of compressed updates: complete, in parts, resent after a crash, or invalid.

use std::sync::Arc;

use folkmoot_aggregation::{AggregatorChoice, Measurement};
use folkmoot_protocol::{
    AssignmentId, ErrorCode, Recipe, RoundId, TensorSchema, TensorSpec, Timestamp, UpdateDigest, ValueGrid,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_update::{codec, encode_update};

use super::{Announced, ExpectedUpdate, Ingest, Upload, logged};
use crate::refusal::Refusal;

const COUNT: usize = 70_007;

fn schema() -> TensorSchema {
    let tensor = |name: &str, shape: &[u64]| TensorSpec { name: name.into(), shape: shape.to_vec() };
    TensorSchema { tensors: vec![tensor("matrix", &[700, 100]), tensor("bias", &[7])] }
}

fn grid() -> ValueGrid {
    ValueGrid { fraction_bits: 16, value_max: 16.0, weight_max: 50 }
}

fn round() -> RoundId {
    RoundId::from_random_bytes([9; 16])
}

fn assignment() -> AssignmentId {
    AssignmentId::from_random_bytes([1; 16])
}

fn expected() -> ExpectedUpdate {
    let mut expected =
        ExpectedUpdate::summed(assignment(), round(), (COUNT, grid()), AggregatorChoice::UniformMean);
    expected.schema_digest = schema().digest();
    expected.compression = Some(Arc::new((schema(), vec![Recipe::default()])));
    expected
}

fn header(is_compressed: bool) -> UpdateHeader {
    UpdateHeader {
        assignment_id: assignment(),
        schema_digest: schema().digest(),
        base_version: 0,
        weight: 1,
        metrics: UpdateMetrics::default(),
        element_count: COUNT as u64,
        is_compressed,
    }
}

/// Returns an encoded update, and the values that it decodes to.
fn update(seed: u64) -> (Vec<u8>, Vec<f32>) {
    let values: Vec<f32> = (0..COUNT).map(|index| (index as f32 * 0.37 + seed as f32).sin()).collect();
    let encoded =
        codec::encode(&schema(), &Recipe::default(), &values, seed, None).expect("it can be encoded");
    let arriving = codec::decode(&schema(), &encoded.bytes).expect("it can be decoded");
    ([header(true).encode().as_slice(), &encoded.bytes].concat(), arriving)
}

fn announced(bytes: &[u8]) -> Announced {
    Announced { digest: UpdateDigest::of(bytes), length: bytes.len() as u64 }
}

fn open(ingest: &Ingest, expected: ExpectedUpdate, bytes: &[u8]) -> Result<Upload, Refusal> {
    drop(ingest.slot(round(), assignment()));
    let segment = ingest.log().open(round(), assignment()).expect("nobody writes it");
    Upload::open(ingest, segment, expected, announced(bytes))
}

/// Finishes the upload and asserts that the round's sum contains its values exactly once.
fn assert_counts_once(ingest: &Ingest, mut upload: Upload, arriving: &[f32]) {
    let accepted = upload.finish(ingest, Timestamp(1)).expect("the update is whole");
    let sum = ingest.sum_of(round(), grid(), COUNT, Measurement::None);
    sum.reconcile(ingest.log(), &[accepted], &[1.0]).expect("the log is in memory");
    let mut sums = Vec::new();
    sum.for_each_tile(|tile| sums.extend_from_slice(tile));
    let steps = |value: &f32| (f64::from(*value) * 65_536.0).round_ties_even() as i64;
    assert_eq!(sums, arriving.iter().map(steps).collect::<Vec<_>>());
}

#[test]
fn it_goes_on_from_any_byte_while_the_process_lives() {
    let (bytes, arriving) = update(1);
    for cut in [1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 3, bytes.len() / 2, bytes.len() - 1] {
        let ingest = Ingest::new(RoundLog::in_memory());
        let mut upload = open(&ingest, expected(), &bytes).expect("it is awaited");
        upload.push(&bytes[..cut]).expect("it is right");
        assert_eq!(ingest.received(assignment()), Some(cut as u64));
        upload.rest(&ingest);
        assert!(!upload.is_whole());
        upload.push(&bytes[cut..]).expect("it is right");
        assert!(upload.is_whole());
        assert_counts_once(&ingest, upload, &arriving);
    }
}

#[test]
fn one_that_was_cut_off_is_sent_again_from_its_first_byte() {
    let (bytes, arriving) = update(2);
    for is_crash in [false, true] {
        let log = RoundLog::in_memory();
        let mut ingest = Ingest::new(log.clone());
        let mut upload = open(&ingest, expected(), &bytes).expect("it is awaited");
        upload.push(&bytes[..bytes.len() - 5]).expect("it is right");
        drop(upload);
        if is_crash {
            ingest = Ingest::new(log);
        }
        assert_eq!(ingest.received(assignment()), None);
        assert_eq!(logged(&ingest, round(), assignment()).expect("the log can be read"), 0);
        let mut upload = open(&ingest, expected(), &bytes).expect("it is awaited");
        assert_eq!(upload.received(), 0);
        upload.push(&bytes).expect("it is right");
        assert_counts_once(&ingest, upload, &arriving);
    }
}

#[test]
fn other_bytes_than_before_count_alone() {
    let (first, _) = update(3);
    let (second, arriving) = update(4);
    let ingest = Ingest::new(RoundLog::in_memory());
    let mut upload = open(&ingest, expected(), &first).expect("it is awaited");
    upload.push(&first[..first.len() * 3 / 4]).expect("it is right");
    drop(upload);
    let mut upload = open(&ingest, expected(), &second).expect("it is awaited");
    upload.push(&second).expect("it is right");
    assert_counts_once(&ingest, upload, &arriving);
    // A client that may compress may still send float32.
    let ingest = Ingest::new(RoundLog::in_memory());
    let dense = encode_update(&header(false), &arriving);
    let mut upload = open(&ingest, expected(), &dense).expect("it is awaited");
    upload.push(&dense).expect("it is right");
    assert_counts_once(&ingest, upload, &arriving);
}

#[test]
fn a_write_that_was_cut_off_leaves_no_part_of_a_value() {
    let (_, values) = update(5);
    let dense = encode_update(&header(false), &values);
    for torn in [50, HEADER_BYTES + 41, HEADER_BYTES + 40] {
        let ingest = Ingest::new(RoundLog::in_memory());
        let mut segment = ingest.log().open(round(), assignment()).expect("nobody writes it");
        segment.append(&dense[..torn]).expect("there is room");
        drop(segment);
        let whole = if torn < HEADER_BYTES { 0 } else { HEADER_BYTES + 40 };
        assert_eq!(logged(&ingest, round(), assignment()).expect("the log can be read"), whole as u64);
        let mut upload = open(&ingest, expected(), &dense).expect("it is awaited");
        assert_eq!(upload.received(), whole as u64);
        upload.push(&dense[whole..]).expect("it is right");
        assert_counts_once(&ingest, upload, &values);
    }
}

#[test]
fn one_that_is_not_whole_does_not_count_whatever_its_digest() {
    let (bytes, _) = update(6);
    let cut = &bytes[..bytes.len() - 9];
    let ingest = Ingest::new(RoundLog::in_memory());
    let mut upload = open(&ingest, expected(), cut).expect("it may be as short");
    upload.push(cut).expect("nothing is wrong so far");
    assert!(upload.is_whole());
    let refusal = upload.finish(&ingest, Timestamp(1)).expect_err("values are missing");
    assert_eq!(refusal.code(), ErrorCode::UpdateMalformed);
}

#[test]
fn it_is_refused_where_none_is_expected() {
    let (bytes, _) = update(7);
    let mut uncompressed = expected();
    uncompressed.compression = None;
    let mut evaluation = uncompressed.clone();
    evaluation.parameter_count = 0;
    let ingest = Ingest::new(RoundLog::in_memory());
    for expected in [uncompressed, evaluation.clone()] {
        let refusal = open(&ingest, expected, &bytes).err().expect("its length is wrong");
        assert_eq!(refusal.code(), ErrorCode::UploadLengthInvalid);
    }
    // An update of an evaluation consists of a header alone.
    let lies = UpdateHeader { element_count: 0, ..header(true) }.encode();
    let mut upload = open(&ingest, evaluation, &lies).expect("the length is right");
    assert_eq!(upload.push(&lies).unwrap_err().code(), ErrorCode::UpdateCodecUnsupported);
    drop(upload);
    // A codec that the recipe does not include.
    let other = Recipe::of("fp16".parse().expect("a codec"));
    let encoded = codec::encode(&schema(), &other, &vec![0.5; COUNT], 1, None).expect("it can be encoded");
    let bytes = [header(true).encode().as_slice(), &encoded.bytes].concat();
    let mut upload = open(&ingest, expected(), &bytes).expect("it is short enough");
    assert_eq!(upload.push(&bytes).unwrap_err().code(), ErrorCode::UpdateCodecUnsupported);
}
