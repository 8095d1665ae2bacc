//! Tests uploads whose content does not match their announcement, that have a wrong offset, or that are sent twice.

use folkmoot_protocol::{
    AssignmentId,
    ErrorCode::{self, *},
    headers,
    messages::{UploadState, UploadStatus},
};
use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    raw::{Answer, RawRequest},
    raw_client::{Unsigned, update_path},
    task::TaskSpec,
};
use tokio::{io::AsyncWriteExt, task::JoinSet};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol, sent_by, verify},
};

/// A name, a change to a signed upload, and the expected error code. The assignment remains valid.
type HeaderCase = (&'static str, fn(RawRequest) -> RawRequest, ErrorCode);

const HEADER_CASES: &[HeaderCase] = &[
    ("no offset", |r| r.without(headers::UPLOAD_OFFSET), MalformedRequest),
    ("no length", |r| r.without(headers::UPLOAD_LENGTH), MalformedRequest),
    ("no digest", |r| r.without(headers::CONTENT_DIGEST), MalformedRequest),
    ("a negative offset", |r| r.with(headers::UPLOAD_OFFSET, "-1"), MalformedRequest),
    ("an offset of 2^64", |r| r.with(headers::UPLOAD_OFFSET, "18446744073709551616"), MalformedRequest),
    ("a length in hexadecimal", |r| r.with(headers::UPLOAD_LENGTH, "0x10"), MalformedRequest),
    ("a length of 1e3", |r| r.with(headers::UPLOAD_LENGTH, "1e3"), MalformedRequest),
    ("two offsets", |r| r.and(headers::UPLOAD_OFFSET, "0"), MalformedRequest),
    ("two lengths", |r| r.and(headers::UPLOAD_LENGTH, "444"), MalformedRequest),
    ("a digest in upper case", |r| r.with(headers::CONTENT_DIGEST, "A".repeat(64)), MalformedRequest),
    ("a short digest", |r| r.with(headers::CONTENT_DIGEST, "ab"), MalformedRequest),
    ("JSON", |r| r.with("content-type", "application/json"), UnsupportedMediaType),
    ("no type", |r| r.without("content-type"), UnsupportedMediaType),
    ("gzip", |r| r.with("content-encoding", "gzip"), UnsupportedMediaType),
    ("identity said aloud", |r| r.with("content-encoding", "identity"), UnsupportedMediaType),
    ("an offset that was not signed", |r| r.with(headers::UPLOAD_OFFSET, "1"), SignatureInvalid),
    ("a length that was not signed", |r| r.with(headers::UPLOAD_LENGTH, "1"), SignatureInvalid),
    ("another protocol", |r| r.with(headers::PROTOCOL, "0"), UnsupportedProtocolVersion),
];

/// A name, a change to an upload before it is signed, the expected error code, and whether the upload ends the
/// assignment.
type SignedCase = (&'static str, fn(&mut Unsigned, &Member), ErrorCode, bool);

const SIGNED_CASES: &[SignedCase] = &[
    ("a length of 2^63", |r, _| r.upload = Some((0, 1 << 63)), UploadLengthInvalid, true),
    ("a length of 2^64 - 1", |r, _| r.upload = Some((0, u64::MAX)), UploadLengthInvalid, true),
    ("a body over the announced length", |r, _| r.body.push(0), UploadLengthInvalid, true),
    ("a body far over it", |r, _| r.body.extend(vec![0; 3_000_000]), UploadLengthInvalid, true),
    ("an offset of 1", |r, m| announce(r, 1, m), UploadOffsetMismatch, false),
    (
        "an offset at the end",
        |r, m| announce(r, m.update.bytes().len() as u64, m),
        UploadOffsetMismatch,
        false,
    ),
    ("an offset of 2^64 - 1", |r, m| announce(r, u64::MAX, m), UploadOffsetMismatch, false),
    ("protocol 0", |r, _| r.protocol = 0, UnsupportedProtocolVersion, false),
    ("protocol 3", |r, _| r.protocol = 3, UnsupportedProtocolVersion, false),
    ("protocol 65535", |r, _| r.protocol = u16::MAX, UnsupportedProtocolVersion, false),
    ("an unknown assignment", |r, _| r.path = update_path(unknown_id()), AssignmentUnknown, false),
    ("no assignment id", |r, _| r.path = "/v1/assignments/mine/update".into(), AssignmentUnknown, false),
    (
        "a very long id",
        |r, _| r.path = format!("/v1/assignments/{}/update", "a".repeat(9000)),
        AssignmentUnknown,
        false,
    ),
    ("a damaged body", |r, _| r.body[200] ^= 1, UpdateDigestMismatch, false),
    ("a body of another weight", |r, _| r.body[64] ^= 1, UpdateDigestMismatch, false),
];

fn announce(request: &mut Unsigned, offset: u64, member: &Member) {
    request.upload = Some((offset, member.update.bytes().len() as u64));
}

fn unknown_id() -> AssignmentId {
    AssignmentId::from_random_bytes([7; 16])
}

/// The number of tests that need more than one request. Each of them ends with an accepted update.
const STORIES: usize = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bad_upload_has_its_code_and_the_good_one_still_counts() {
    let cohort = HEADER_CASES.len() + SIGNED_CASES.len() + STORIES;
    let spec = TaskSpec::synthetic(&[6, 8, 3], cohort as u64, 1).with_scheduling("minimum_cohort", 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let members = draw(&deployment, &enrol(&deployment, cohort).await).await;
    let (for_headers, rest) = members.split_at(HEADER_CASES.len());
    let (for_signed, stories) = rest.split_at(SIGNED_CASES.len());

    let mut counted: Vec<Member> = [for_headers, stories].concat();
    for ((name, alter, expected), member) in HEADER_CASES.iter().zip(for_headers) {
        let good = member.client.upload(member.id(), &member.update.bytes()).sign(&member.client.key);
        let answer = deployment.endpoint.send(&alter(good)).await;
        assert_code(name, &answer, *expected);
        assert_accepted(&member.upload().await);
    }
    for ((name, alter, expected, ends), member) in SIGNED_CASES.iter().zip(for_signed) {
        let mut request = member.client.upload(member.id(), &member.update.bytes());
        alter(&mut request, member);
        assert_code(name, &member.client.send(&request).await, *expected);
        if *ends {
            assert_code(name, &member.upload().await, *expected);
        } else {
            assert_accepted(&member.upload().await);
            counted.push(member.clone());
        }
    }
    in_parts(&stories[0]).await;
    another_body_while_the_first_is_under_way(&stories[1]).await;
    another_body_after_the_first_was_accepted(&stories[2]).await;
    at_once(&stories[3]).await;
    into_the_assignment_of(&stories[4], &stories[5]).await;
    broken_off(&stories[6]).await;

    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &sent_by(&counted)).await;
    assert_eq!(rounds[0].accepted.len(), counted.len());
    deployment.assert_answers().await;
}

#[track_caller]
fn assert_code(name: &str, answer: &Answer, expected: ErrorCode) {
    assert_eq!(answer.code(), Some(expected), "{name}: {} {}", answer.status, answer.text());
    assert_eq!(answer.status, expected.http_status(), "{name}");
}

/// Sends an empty part, the first half, a wrong second half, the right second half, and another empty part.
async fn in_parts(member: &Member) {
    let (client, update) = (&member.client, member.update.bytes());
    let half = update.len() / 2;
    for (part, received) in [(0..0, 0), (0..half, half), (half..half, half)] {
        let status: UploadStatus = client.send(&client.upload_part(member.id(), &update, part)).await.json();
        assert_eq!(status, UploadStatus { received_bytes: received as u64, state: UploadState::Partial });
    }
    let again = client.send(&client.upload_part(member.id(), &update, 0..half)).await;
    assert_eq!(again.code(), Some(UploadOffsetMismatch));
    let received = again.problem().and_then(|problem| problem.received_bytes);
    assert_eq!(received, Some(half as u64));
    for part in [half..half + 1, half + 1..update.len() - 1] {
        client.send(&client.upload_part(member.id(), &update, part)).await.json::<UploadStatus>();
    }
    member.upload_rest().await;
    let end = client.upload_part(member.id(), &update, update.len()..update.len());
    assert_accepted(&client.send(&end).await);
}

async fn another_body_while_the_first_is_under_way(member: &Member) {
    let (client, update) = (&member.client, member.update.bytes());
    client.send(&client.upload_part(member.id(), &update, 0..150)).await.json::<UploadStatus>();
    let mut other = member.update.clone();
    other.values[0] += 1.0;
    let answer = client.send(&client.upload_part(member.id(), &other.bytes(), 150..update.len())).await;
    assert_eq!(answer.code(), Some(UpdateConflict));
    member.upload_rest().await;
}

async fn another_body_after_the_first_was_accepted(member: &Member) {
    assert_accepted(&member.upload().await);
    assert_accepted(&member.upload().await);
    let mut other = member.update.clone();
    other.values[0] += 1.0;
    let answer = member.client.send(&member.client.upload(member.id(), &other.bytes())).await;
    assert_eq!(answer.code(), Some(UpdateConflict));
    assert_accepted(&member.upload().await);
}

/// Sends two different updates for one assignment at the same time, four copies of each. Only the update that was begun
/// first may be accepted.
async fn at_once(member: &Member) {
    let (client, good) = (&member.client, member.update.bytes());
    // The good update is begun first. So only it may be accepted.
    client.send(&client.upload_part(member.id(), &good, 0..1)).await.json::<UploadStatus>();
    let mut other = member.update.clone();
    other.values[7] -= 1.0;
    let mut uploads = JoinSet::new();
    for copy in 0..8 {
        let update = if copy % 2 == 0 { good.clone() } else { other.bytes() };
        let request = client.upload_part(member.id(), &update, 1..update.len());
        let client = client.clone();
        uploads.spawn(async move { (copy, client.send(&request).await) });
    }
    while let Some(answer) = uploads.join_next().await {
        let (copy, answer) = answer.expect("an upload is answered");
        let is_fine = match answer.code() {
            None => copy % 2 == 0,
            Some(UploadBusy | UploadOffsetMismatch) => true,
            Some(code) => copy % 2 == 1 && code == UpdateConflict,
        };
        assert!(is_fine, "copy {copy}: {}", answer.text());
    }
    assert_accepted(&member.upload().await);
}

/// Uploads to another client's assignment. The coordinator must report the assignment as unknown, and the other client
/// must not be affected.
async fn into_the_assignment_of(victim: &Member, attacker: &Member) {
    let update = victim.update.bytes();
    for request in [
        attacker.client.upload(victim.id(), &update),
        attacker.client.get(&update_path(victim.id())),
        attacker.client.message(
            &format!("/v1/assignments/{}/abort", victim.id()),
            &serde_json::json!({ "reason": "stopped" }),
        ),
        attacker.client.message(
            &format!("/v1/assignments/{}/report", victim.id()),
            &serde_json::json!({ "training_milliseconds": 1, "download_bytes": 1, "upload_bytes": 1 }),
        ),
    ] {
        let answer = attacker.client.send(&request).await;
        assert_eq!(answer.code(), Some(AssignmentUnknown), "{} {}", request.method, request.path);
    }
    assert_accepted(&victim.upload().await);
    assert_accepted(&attacker.upload().await);
}

/// Closes the connection in the middle of the header, in the middle of a value, and before the last byte.
async fn broken_off(member: &Member) {
    let update = member.update.bytes();
    for end in [30, 301, update.len() - 1] {
        let received = member.client.upload_status(member.id()).await.received_bytes as usize;
        let rest = member.client.upload_part(member.id(), &update, received..update.len());
        let mut cut = rest.sign(&member.client.key);
        let whole = cut.body.len();
        cut.body.truncate(end.saturating_sub(received));
        send_and_close(member, &cut.with("content-length", whole)).await;
        await_received(member, end as u64).await;
    }
    member.upload_rest().await;
}

/// Sends a request whose body is shorter than announced, and closes the connection without waiting for a response.
async fn send_and_close(member: &Member, request: &RawRequest) {
    let mut connection = member.client.endpoint.connect().await.expect("the coordinator listens");
    connection.write_all(&request.head(0)).await.expect("the coordinator reads");
    connection.write_all(&request.body).await.expect("the coordinator reads");
    connection.flush().await.expect("the coordinator reads");
}

async fn await_received(member: &Member, bytes: u64) {
    let arrived = async {
        while member.client.upload_status(member.id()).await.received_bytes < bytes {
            tokio::task::yield_now().await;
        }
    };
    patiently("the bytes before the break", arrived).await;
}
