//! Tests of updates of which two processes receive parts, or different bytes.

use std::sync::Arc;

use folkmoot_aggregation::{AggregatorChoice, Measurement};
use folkmoot_objects::{Objects, UpdateStoreError};
use folkmoot_protocol::{
    AssignmentId, ErrorCode, RoundId, Timestamp, UpdateDigest, ValueGrid,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::AcceptedUpdate;

use super::{Announced, ExpectedUpdate, Ingest, RoundSum, Upload};

const COUNT: usize = 1_000;
const SCHEMA: [u8; 32] = [3; 32];

fn grid() -> ValueGrid {
    ValueGrid { fraction_bits: 16, value_max: 16.0, weight_max: 50 }
}

fn round() -> RoundId {
    RoundId::from_random_bytes([9; 16])
}

fn assignment() -> AssignmentId {
    AssignmentId::from_random_bytes([1; 16])
}

/// Returns an update with this value for every parameter.
fn update(value: f32) -> Vec<u8> {
    let header = UpdateHeader {
        assignment_id: assignment(),
        schema_digest: SCHEMA,
        base_version: 0,
        weight: 1,
        metrics: UpdateMetrics::default(),
        element_count: COUNT as u64,
        is_compressed: false,
    };
    header.encode().into_iter().chain(value.to_le_bytes().repeat(COUNT)).collect()
}

/// Returns a process that shares its object storage with others.
fn process(objects: &Objects, name: &str) -> Ingest {
    Ingest::new(RoundLog::in_memory()).with_store(objects.updates("database", name))
}

fn begin(ingest: &Ingest, bytes: &[u8]) -> Upload {
    let mut expected =
        ExpectedUpdate::summed(assignment(), round(), (COUNT, grid()), AggregatorChoice::UniformMean);
    expected.schema_digest = SCHEMA;
    let announced = Announced { digest: UpdateDigest::of(bytes), length: bytes.len() as u64 };
    let segment = ingest.log().open(round(), assignment()).expect("nobody writes it");
    Upload::open(ingest, segment, expected, announced).expect("it is awaited")
}

fn sum_of(ingest: &Ingest) -> Arc<RoundSum> {
    ingest.sum_of(round(), grid(), COUNT, Measurement::None)
}

/// Receives a whole update and stores it.
async fn receive(ingest: &Ingest, bytes: &[u8]) -> AcceptedUpdate {
    let mut upload = begin(ingest, bytes);
    upload.push(bytes).expect("it is right");
    let mut accepted = upload.finish(ingest, Timestamp(1)).expect("it is whole");
    ingest.keep(&mut accepted, upload.logged_digest()).await.expect("the storage is in memory");
    accepted
}

fn assert_is(sum: &RoundSum, value: f32) {
    let steps = (f64::from(value) * 65_536.0).round_ties_even() as i64;
    sum.for_each_tile(|tile| assert!(tile.iter().all(|sum| *sum == steps), "{} is not {steps}", tile[0]));
}

#[tokio::test]
async fn another_update_that_was_begun_here_leaves_no_trace() {
    let objects = Objects::in_memory();
    let (driver, other) = (process(&objects, "driver"), process(&objects, "other"));
    let (begun, whole) = (update(2.5), update(-1.0));
    let mut upload = begin(&driver, &begun);
    upload.push(&begun[..HEADER_BYTES + 4 * COUNT / 2]).expect("it is right");
    let accepted = receive(&other, &whole).await;

    let sum = sum_of(&driver);
    driver.gather(std::slice::from_ref(&accepted), Some(sum.clone())).await.expect("it is stored");
    sum.reconcile(driver.log(), std::slice::from_ref(&accepted), &[1.0]).expect("it was copied");
    assert_is(&sum, -1.0);

    // The first request sends more, is refused, and discards the bytes that it has sent.
    let refusal = upload.push(&begun[HEADER_BYTES + 4 * COUNT / 2..]).expect_err("the round has closed");
    assert_eq!(refusal.code(), ErrorCode::RoundClosed);
    upload.give_up(&driver);
    assert_is(&sum, -1.0);
    // A retry after a commit that failed finds everything.
    driver.gather(std::slice::from_ref(&accepted), Some(sum.clone())).await.expect("it is stored");
    sum.reconcile(driver.log(), &[accepted], &[1.0]).expect("it was copied");
    assert_is(&sum, -1.0);
}

#[tokio::test]
async fn what_begins_after_the_driver_has_gathered_adds_nothing() {
    let objects = Objects::in_memory();
    let (driver, other) = (process(&objects, "driver"), process(&objects, "other"));
    let accepted = receive(&other, &update(-1.0)).await;
    let sum = sum_of(&driver);
    driver.gather(std::slice::from_ref(&accepted), Some(sum.clone())).await.expect("it is stored");
    assert!(!sum.fold(assignment(), 1.0, 0, &2.5f32.to_le_bytes()));
    sum.reconcile(driver.log(), &[accepted], &[1.0]).expect("it was copied");
    assert_is(&sum, -1.0);
}

#[tokio::test]
async fn only_the_bytes_that_were_checked_are_stored() {
    let objects = Objects::in_memory();
    let ingest = process(&objects, "one");
    let bytes = update(1.0);
    let mut upload = begin(&ingest, &bytes);
    upload.push(&bytes).expect("it is right");
    let mut accepted = upload.finish(&ingest, Timestamp(1)).expect("it is whole");
    let mut copy = ingest.log().copy(round(), assignment()).expect("the log is in memory");
    copy.append(&bytes[..100]).expect("the log is in memory");
    copy.finish().expect("the log is in memory");
    let kept = ingest.keep(&mut accepted, upload.logged_digest()).await;
    assert!(matches!(kept, Err(UpdateStoreError::Damaged(_))));
    assert_eq!(accepted.place, None);
}

#[tokio::test]
async fn a_part_that_another_process_received_is_taken_over_only_into_an_empty_log() {
    let objects = Objects::in_memory();
    let (one, other) = (process(&objects, "one"), process(&objects, "other"));
    let bytes = update(1.0);
    one.log().open(round(), assignment()).expect("it is free").append(&bytes).expect("it is in memory");
    let reader = one.log().read(round(), assignment()).expect("it is there");
    let store = one.store().expect("there is one");
    store.put_parts(round(), assignment(), reader, 0..100).await.expect("it is in memory");

    let length = || other.log().read(round(), assignment()).map_or(0, |reader| reader.len());
    {
        let _writer = other.log().open(round(), assignment()).expect("it is free");
        other.take_over(round(), assignment()).await.expect("a request has the segment");
        assert_eq!(length(), 0);
    }
    other.take_over(round(), assignment()).await.expect("it is stored");
    assert_eq!(length(), 100);
    other.log().open(round(), assignment()).expect("it is free").truncate(8).expect("it is longer");
    other.take_over(round(), assignment()).await.expect("it is stored");
    assert_eq!(length(), 8, "what has arrived here stays");
}
