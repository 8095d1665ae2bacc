//! Tests updates with invalid bytes. The coordinator must refuse each with its error code, and combine the other
//! updates.

use folkmoot_protocol::ErrorCode::{self, *};
use folkmoot_tests::{deployment::Deployment, task::TaskSpec, update::TestUpdate};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol, sent_by, verify},
};

/// The largest value of the default grid.
const VALUE_MAX: f32 = 16.0;

/// A name, a change to a valid update, and the expected error code; `None` if the changed update is valid.
type UpdateCase = (&'static str, fn(&mut TestUpdate), Option<ErrorCode>);

const UPDATE_CASES: &[UpdateCase] = &[
    ("good", |_| {}, None),
    ("NaN first", |u| u.values[0] = f32::NAN, Some(UpdateValueNotFinite)),
    ("NaN in the middle", |u| u.values[41] = f32::NAN, Some(UpdateValueNotFinite)),
    ("NaN last", |u| set_last(u, f32::NAN), Some(UpdateValueNotFinite)),
    ("signalling NaN", |u| u.values[3] = f32::from_bits(0x7f80_0001), Some(UpdateValueNotFinite)),
    ("negative NaN", |u| u.values[3] = f32::from_bits(0xffff_ffff), Some(UpdateValueNotFinite)),
    ("infinity", |u| u.values[5] = f32::INFINITY, Some(UpdateValueNotFinite)),
    ("negative infinity", |u| set_last(u, f32::NEG_INFINITY), Some(UpdateValueNotFinite)),
    ("just above the limit", |u| u.values[5] = VALUE_MAX.next_up(), Some(UpdateValueOutOfRange)),
    ("just below the negative limit", |u| set_last(u, (-VALUE_MAX).next_down()), Some(UpdateValueOutOfRange)),
    ("the largest float", |u| u.values[0] = f32::MAX, Some(UpdateValueOutOfRange)),
    ("the limits", |u| u.values[..2].copy_from_slice(&[VALUE_MAX, -VALUE_MAX]), None),
    ("subnormals", |u| u.values[..2].copy_from_slice(&[f32::from_bits(1), -f32::from_bits(0x7f_ffff)]), None),
    ("negative zeros", |u| u.values.fill(-0.0), None),
    ("halves of the grid", |u| u.values.fill(2f32.powi(-29)), None),
    ("no element", |u| u.header.element_count = 0, Some(UpdateSchemaMismatch)),
    ("an element too few", |u| u.header.element_count -= 1, Some(UpdateSchemaMismatch)),
    ("an element too many", |u| u.header.element_count += 1, Some(UpdateSchemaMismatch)),
    ("2^62 + n elements", |u| u.header.element_count += 1 << 62, Some(UpdateSchemaMismatch)),
    ("2^63 elements", |u| u.header.element_count = 1 << 63, Some(UpdateSchemaMismatch)),
    ("2^64 - 1 elements", |u| u.header.element_count = u64::MAX, Some(UpdateSchemaMismatch)),
    ("another schema", |u| u.header.schema_digest[31] ^= 1, Some(UpdateSchemaMismatch)),
    ("another assignment", |u| u.header.assignment_id = other_id(), Some(UpdateMalformed)),
    ("a later version", |u| u.header.base_version += 1, Some(UpdateVersionMismatch)),
    ("the last version", |u| u.header.base_version = u64::MAX, Some(UpdateVersionMismatch)),
    ("weight 0", |u| u.header.weight = 0, Some(UpdateWeightOutOfRange)),
    ("a weight just above the limit", |u| u.header.weight = 10_001, Some(UpdateWeightOutOfRange)),
    ("weight 2^64 - 1", |u| u.header.weight = u64::MAX, Some(UpdateWeightOutOfRange)),
    ("a weight of 10^300 as a float", |u| u.header.weight = 1e300f64.to_bits(), Some(UpdateWeightOutOfRange)),
    ("a weight of -1", |u| u.header.weight = -1i64 as u64, Some(UpdateWeightOutOfRange)),
    ("the largest weight", |u| u.header.weight = 10_000, None),
    ("loss NaN", |u| u.header.metrics.loss_sum = f64::NAN, Some(UpdateMetricInvalid)),
    ("loss infinite", |u| u.header.metrics.loss_sum = f64::INFINITY, Some(UpdateMetricInvalid)),
    ("loss -infinite", |u| u.header.metrics.loss_sum = f64::NEG_INFINITY, Some(UpdateMetricInvalid)),
    ("a loss below 0", |u| u.header.metrics.loss_sum = -1e5, Some(UpdateMetricInvalid)),
    ("a loss of 10^308", |u| u.header.metrics.loss_sum = 1e308, Some(UpdateMetricInvalid)),
    ("the largest float32 as a mean loss", |u| largest_mean_loss(u), None),
    ("no example", |u| set_examples(u, 0), Some(UpdateMetricInvalid)),
    (
        "more examples than a client may hold",
        |u| set_examples(u, 1_000_000_000_001),
        Some(UpdateMetricInvalid),
    ),
    ("2^63 - 1 examples", |u| set_examples(u, i64::MAX as u64), Some(UpdateMetricInvalid)),
    ("2^63 examples", |u| set_examples(u, 1 << 63), Some(UpdateMetricInvalid)),
    ("2^64 - 1 examples", |u| set_examples(u, u64::MAX), Some(UpdateMetricInvalid)),
    ("2^53 + 1 steps", |u| u.header.metrics.step_count = (1 << 53) + 1, Some(UpdateMetricInvalid)),
    ("2^63 steps", |u| u.header.metrics.step_count = 1 << 63, Some(UpdateMetricInvalid)),
    ("a million steps", |u| u.header.metrics.step_count = 1_000_000, None),
    ("more correct than seen", |u| more_correct_than_seen(u), Some(UpdateMetricInvalid)),
    ("2^64 - 1 correct", |u| u.header.metrics.correct_count = u64::MAX, Some(UpdateMetricInvalid)),
];

/// A name, a change to the bytes of a valid update, and the expected error code.
type BytesCase = (&'static str, fn(&mut Vec<u8>), ErrorCode);

const BYTES_CASES: &[BytesCase] = &[
    ("another magic", |b| b[0] = b'X', UpdateMalformed),
    ("ONNX instead of an update", |b| b[..4].copy_from_slice(&[8, 7, 18, 0]), UpdateMalformed),
    ("format version 0", |b| put_u16(b, 4, 0), UpdateCodecUnsupported),
    ("format version 2", |b| put_u16(b, 4, 2), UpdateCodecUnsupported),
    ("format version 65535", |b| put_u16(b, 4, u16::MAX), UpdateCodecUnsupported),
    ("big-endian format version", |b| b[4..6].copy_from_slice(&1u16.to_be_bytes()), UpdateCodecUnsupported),
    ("codec 1", |b| put_u16(b, 6, 1), UpdateCodecUnsupported),
    ("codec 65535", |b| put_u16(b, 6, u16::MAX), UpdateCodecUnsupported),
    ("no byte", Vec::clear, UploadLengthInvalid),
    ("one byte", |b| b.truncate(1), UploadLengthInvalid),
    ("a part of the header", |b| b.truncate(111), UploadLengthInvalid),
    ("the header alone", |b| b.truncate(112), UploadLengthInvalid),
    ("a value short", |b| b.truncate(b.len() - 4), UploadLengthInvalid),
    ("a byte short", |b| b.truncate(b.len() - 1), UploadLengthInvalid),
    ("a byte over", |b| b.push(0), UploadLengthInvalid),
    ("a value over", |b| b.extend([0; 4]), UploadLengthInvalid),
    ("twice the update", |b| b.extend(b.clone()), UploadLengthInvalid),
];

fn set_last(update: &mut TestUpdate, value: f32) {
    *update.values.last_mut().expect("an update has values") = value;
}

fn more_correct_than_seen(update: &mut TestUpdate) {
    update.header.metrics.correct_count = update.header.metrics.example_count + 1;
}

fn set_examples(update: &mut TestUpdate, count: u64) {
    update.header.metrics.example_count = count;
    update.header.metrics.correct_count = 0;
}

fn largest_mean_loss(update: &mut TestUpdate) {
    let metrics = &mut update.header.metrics;
    metrics.loss_sum = metrics.example_count as f64 * f64::from(f32::MAX);
}

fn other_id() -> folkmoot_protocol::AssignmentId {
    folkmoot_protocol::AssignmentId::from_random_bytes([7; 16])
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Sends invalid bytes. Asserts that they end the assignment: a valid update is then refused with the same code.
async fn assert_refused(member: &Member, name: &str, bytes: &[u8], expected: ErrorCode) {
    let answer = member.client.send(&member.client.upload(member.id(), bytes)).await;
    assert_eq!(answer.code(), Some(expected), "{name}: {}", answer.text());
    assert_eq!(answer.status, expected.http_status(), "{name}");
    assert_eq!(member.upload().await.code(), Some(expected), "{name}: a good update after a refused one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bad_update_has_its_code_and_no_effect() {
    let cohort = UPDATE_CASES.len() + BYTES_CASES.len();
    let spec = TaskSpec::synthetic(&[6, 8, 3], cohort as u64, 1).with_scheduling("minimum_cohort", 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut members = draw(&deployment, &enrol(&deployment, cohort).await).await;
    let for_bytes = members.split_off(UPDATE_CASES.len());

    let mut counted = Vec::new();
    for ((name, alter, expected), member) in UPDATE_CASES.iter().zip(&mut members) {
        let good = member.clone();
        alter(&mut member.update);
        match expected {
            Some(code) => assert_refused(&good, name, &member.update.bytes(), *code).await,
            None => {
                let answer = member.upload().await;
                assert_eq!(answer.status, 200, "{name}: {}", answer.text());
                assert_accepted(&answer);
                counted.push(member.clone());
            }
        }
    }
    for ((name, alter, expected), member) in BYTES_CASES.iter().zip(&for_bytes) {
        let mut bytes = member.update.bytes();
        alter(&mut bytes);
        assert_refused(member, name, &bytes, *expected).await;
    }

    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &sent_by(&counted)).await;
    assert_eq!(rounds[0].accepted.len(), counted.len());
    deployment.assert_unharmed().await;
}
