//! Tests that clients with and without support for compression contribute to the same model version.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use folkmoot_protocol::{
    ErrorCode,
    codec::names,
    messages::{CheckInRequest, UploadState, UploadStatus},
    update::UpdateHeader,
};
use folkmoot_rounds::combine::NetworkClass;
use folkmoot_storage::AssignmentRepository;
use folkmoot_tests::{deployment::Deployment, raw::RawRequest, task::TaskSpec};
use folkmoot_update::codec::encode;
use serde_json::json;

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol, verify},
};

const WIDTHS: [usize; 3] = [64, 300, 10];
/// Recorded check-ins of older builds, and of a possible later one. The flag is true if the build supports the task's
/// codec.
const RECORDED: [(&str, bool); 3] = [
    (include_str!("recorded/check-in-before-codecs.json"), false),
    (include_str!("recorded/check-in-two-codecs.json"), false),
    (include_str!("recorded/check-in-codecs-of-later.json"), true),
];

/// Returns a member's valid update, encoded with the recipe of its assignment.
fn bytes_of(member: &Member, deployment: &Deployment) -> Vec<u8> {
    let Some(recipe) = &member.assignment.recipe else { return member.update.bytes() };
    let encoded = encode(&deployment.task.schema, recipe, &member.update.values, 5, None);
    let header = UpdateHeader { is_compressed: true, ..member.update.header.clone() };
    [header.encode().as_slice(), &encoded.expect("it can be encoded").bytes].concat()
}

async fn upload(member: &Member, update: &[u8], part: std::ops::Range<usize>) -> UploadStatus {
    member.client.send(&member.client.upload_part(member.id(), update, part)).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_knows_the_codec_and_whoever_does_not_make_one_version() {
    let compression = json!({ "codec": "eden:4", "exact_below": 100 });
    let spec = TaskSpec::synthetic(&WIDTHS, 6, 1).with_part("compression", compression);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut clients = enrol(&deployment, 6).await;
    let own = CheckInRequest {
        sdk_version: "test".into(),
        example_count: 72,
        attributes: BTreeMap::default(),
        codecs: names(),
    };
    let own = serde_json::to_string(&own).expect("a message is plain data");
    let said: Vec<(&str, bool)> = RECORDED.into_iter().chain([(own.as_str(), true); 3]).collect();
    for (client, (body, _)) in clients.iter_mut().zip(&said) {
        client.check_in_body = body.as_bytes().to_vec();
    }
    let members = draw(&deployment, &clients).await;
    let mut sent = BTreeMap::new();
    for (member, (body, is_known)) in members.iter().zip(&said) {
        assert_eq!(member.assignment.recipe.is_some(), *is_known, "{body}");
        let update = bytes_of(member, &deployment);
        assert!(!is_known || update.len() * 6 < member.update.bytes().len(), "{}", update.len());
        sent.insert(member.id(), Bytes::from(update));
    }
    let [old, limited, later, in_parts, cut_off, repeated] = &members[..] else {
        panic!("six were drawn");
    };
    for member in [old, limited, later, repeated] {
        let update = &sent[&member.id()];
        assert_accepted(&member.client.send(&member.client.upload(member.id(), update)).await);
    }
    let update = &sent[&repeated.id()];
    let again = repeated.client.send(&repeated.client.upload(repeated.id(), update)).await;
    assert_eq!(again.json::<UploadStatus>().received_bytes, update.len() as u64);
    let status = repeated.client.upload_status(repeated.id()).await;
    assert_eq!((status.received_bytes, status.state), (update.len() as u64, UploadState::Accepted));

    // While the process is running, an upload can resume at any byte.
    let update = &sent[&in_parts.id()];
    let cuts = [0, 100, 113, update.len() / 2, update.len()];
    for cut in cuts.windows(2) {
        assert_eq!(in_parts.client.upload_status(in_parts.id()).await.received_bytes, cut[0] as u64);
        let status = upload(in_parts, update, cut[0]..cut[1]).await;
        assert_eq!(status.received_bytes, cut[1] as u64);
    }
    // An incomplete upload starts again at its first byte after the process was killed.
    let update = &sent[&cut_off.id()];
    upload(cut_off, update, 0..update.len() - 1).await;
    deployment.kill().await;
    deployment.restart().await;
    assert_eq!(cut_off.client.upload_status(cut_off.id()).await.received_bytes, 0);
    assert_eq!(upload(cut_off, update, 0..update.len()).await.state, UploadState::Accepted);

    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &sent).await;
    assert_eq!(rounds[0].accepted.len(), 6);
}

/// Returns the check-in of a client that supports all codecs and is on this kind of network.
fn over(network: Option<&str>) -> String {
    let request = CheckInRequest {
        sdk_version: "test".into(),
        example_count: 72,
        attributes: network.map(|name| ("network".to_owned(), name.to_owned())).into_iter().collect(),
        codecs: names(),
    };
    serde_json::to_string(&request).expect("a message is plain data")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_over_three_kinds_of_network_make_one_version() {
    let when = |network: &str| json!([{ "attribute": "network", "condition": { "equals": network } }]);
    let choices = json!([
        { "when": when("wifi"), "recipe": { "codec": "fp16" } },
        { "when": when("4g"), "recipe": { "codec": "eden:1", "exact_below": 100 } },
        { "when": when("3g"), "recipe": { "codec": "top_k:0.05" } },
    ]);
    let spec = TaskSpec::synthetic(&WIDTHS, 6, 1)
        .with_part("compression", json!({ "codec": "eden:4", "exact_below": 100 }))
        .with_part("compression_choices", choices);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut clients = enrol(&deployment, 6).await;
    let said = [
        (over(Some("wifi")), Some("fp16"), "wifi"),
        (over(Some("4g")), Some("eden:1"), "4g"),
        (over(Some("3g")), Some("top_k:0.05"), "3g"),
        (over(Some("my own")), Some("eden:4"), "other"),
        (over(None), Some("eden:4"), "unknown"),
        (RECORDED[0].0.to_owned(), None, "wifi"),
    ];
    for (client, (body, ..)) in clients.iter_mut().zip(&said) {
        client.check_in_body = body.as_bytes().to_vec();
    }
    let members = draw(&deployment, &clients).await;
    let mut sent = BTreeMap::new();
    for (member, (body, codec, _)) in members.iter().zip(&said) {
        let given = member.assignment.recipe.as_ref().map(|recipe| recipe.codec.to_string());
        assert_eq!(given.as_deref(), *codec, "{body}");
        let update = bytes_of(member, &deployment);
        assert_accepted(&member.client.send(&member.client.upload(member.id(), &update)).await);
        sent.insert(member.id(), Bytes::from(update));
    }
    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &sent).await;
    assert_eq!(rounds[0].accepted.len(), 6);

    // The traffic must be counted separately for each codec and network.
    let traffic = deployment.storage().await.traffic(rounds[0].id).await.expect("it is there");
    let counted: BTreeSet<(String, &str, u64)> = traffic
        .iter()
        .map(|one| (one.codec.clone(), NetworkClass::of(&one.slices).name(), one.bytes))
        .collect();
    let of_member = |(member, (_, codec, network)): (&Member, &(String, Option<&str>, &'static str))| {
        (codec.unwrap_or("float32").to_owned(), *network, sent[&member.id()].len() as u64)
    };
    assert_eq!(counted, members.iter().zip(&said).map(of_member).collect());
    let metrics = deployment.endpoint.send(&RawRequest::new("GET", "/metrics")).await.text();
    for (_, codec, network) in &said {
        let name = codec.unwrap_or("float32").split(':').next().unwrap_or_default();
        let line = format!("folkmoot_updates_total{{codec=\"{name}\",network=\"{network}\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_that_ends_too_early_ends_its_assignment_and_not_the_round() {
    let spec = TaskSpec::synthetic(&WIDTHS, 2, 1)
        .with_part("compression", json!({ "codec": "eden:4", "exact_below": 100 }))
        .with_scheduling("minimum_cohort", 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut clients = enrol(&deployment, 2).await;
    for client in &mut clients {
        client.check_in_body = RECORDED[2].0.as_bytes().to_vec();
    }
    let members = draw(&deployment, &clients).await;
    let [good, cut] = &members[..] else { panic!("two were drawn") };
    let update = bytes_of(cut, &deployment);
    let part = &update[..update.len() - 9];
    let answer = cut.client.send(&cut.client.upload(cut.id(), part)).await;
    assert_eq!(answer.code(), Some(ErrorCode::UpdateMalformed), "{}", answer.text());
    // A different update must not be accepted instead, and the round must not wait until its deadline.
    let answer = cut.client.send(&cut.client.upload(cut.id(), &update)).await;
    assert_eq!(answer.code(), Some(ErrorCode::UpdateMalformed), "{}", answer.text());
    let update = bytes_of(good, &deployment);
    assert_accepted(&good.client.send(&good.client.upload(good.id(), &update)).await);
    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &BTreeMap::from([(good.id(), Bytes::from(update))])).await;
    assert_eq!(rounds[0].accepted.len(), 1);
}
