//! Tests compressed downloads of model versions. Clients that support the codecs fetch only the changes of a version;
//! other clients fetch the version in float32. Both kinds contribute to the same next version.

use std::collections::{BTreeMap, HashSet};

use folkmoot_protocol::{
    BlobDigest, ErrorCode,
    codec::names,
    messages::{Artifact, CheckInRequest},
};
use folkmoot_tests::{deployment::Deployment, task::TaskSpec};
use folkmoot_update::codec::decode_parts;
use serde_json::json;

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

const WIDTHS: [usize; 3] = [64, 300, 10];
const WHOLE_EVERY: u64 = 3;

async fn fetch(member: &Member, artifact: Artifact) -> Vec<u8> {
    let answer = member.client.send(&member.client.get(&format!("/v1/blobs/{}", artifact.digest))).await;
    assert_eq!(answer.status, 200, "{:?}", answer.code());
    assert_eq!((answer.body.len() as u64, BlobDigest::of(&answer.body)), (artifact.bytes, artifact.digest));
    answer.body
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_there_before_fetches_only_what_changed() {
    let downstream = json!({ "whole_every": WHOLE_EVERY });
    let spec = TaskSpec::synthetic(&WIDTHS, 3, 1000).with_part("downstream", downstream);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut clients = enrol(&deployment, 3).await;
    let check_in = CheckInRequest {
        sdk_version: "test".into(),
        example_count: 1000,
        attributes: BTreeMap::default(),
        codecs: names(),
    };
    for client in &mut clients[..2] {
        client.check_in_body = serde_json::to_vec(&check_in).expect("a message is plain data");
    }
    let schema = deployment.task.schema.clone();
    let zero = vec![0.0; deployment.task.parameter_count()];
    let mut before = zero.clone();
    let mut held: HashSet<BlobDigest> = HashSet::new();
    for version in 0..5u64 {
        if version == 2 {
            // The coordinator does not store the decoded state of earlier versions. After a restart, it must compute
            // the same state again.
            deployment.kill().await;
            deployment.restart().await;
        }
        let members = draw(&deployment, &clients).await;
        let [first, second, old] = &members[..] else { panic!("three were drawn") };
        let parts = &first.assignment.weights_parts;
        assert_eq!(parts.len() as u64, version % WHOLE_EVERY + 1);
        assert_eq!(&second.assignment.weights_parts, parts);
        assert_eq!(old.assignment.weights_parts, [], "it says that it knows no codec");
        let exact = floats(&fetch(old, old.assignment.weights).await);
        let mut fetched = 0;
        let mut bytes = Vec::new();
        for part in parts {
            bytes.push(fetch(first, *part).await);
            fetched += if held.insert(part.digest) { part.bytes } else { 0 };
        }
        let share = fetched as f64 / old.assignment.weights.bytes as f64;
        let most = if version % WHOLE_EVERY == 0 { 0.27 } else { 0.14 };
        assert!(share < most, "version {version}: {share} of float32");
        let near = decode_parts(&schema, bytes.iter().map(Vec::as_slice)).expect("they are parts");
        let distance = |left: &[f32], right: &[f32]| {
            let squares = left.iter().zip(right).map(|(left, right)| f64::from(left - right).powi(2));
            squares.sum::<f64>().sqrt()
        };
        // The maximum error is half a quantisation step. That is 1/14 of a block's largest value for a change with 4
        // bits, and 1/254 for a full version with 8 bits.
        let moved =
            if parts.len() > 1 { 0.1 * distance(&exact, &before) } else { 0.01 * distance(&exact, &zero) };
        assert!(distance(&near, &exact) < moved, "version {version}: {} {moved}", distance(&near, &exact));
        before = exact;
        let stranger = BlobDigest::of(b"no part");
        let answer = first.client.send(&first.client.get(&format!("/v1/blobs/{stranger}"))).await;
        assert_eq!(answer.code(), Some(ErrorCode::BlobUnknown));
        for member in &members {
            assert_accepted(&member.upload().await);
        }
        await_version(&deployment, version + 1).await;
    }
    deployment.stop().await;
}
