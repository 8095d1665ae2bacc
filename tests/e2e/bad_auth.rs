//! Tests requests with a wrong signer, an old timestamp, a used nonce, or changes after signing.

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    ClientId,
    ErrorCode::{self, *},
    Timestamp, UpdateDigest, headers,
    limits::{CLOCK_AHEAD_MILLISECONDS_MAX, CLOCK_SKEW_MILLISECONDS_MAX},
};
use folkmoot_storage::{ClientRepository, TokenAfter};
use folkmoot_tests::{
    deployment::Deployment,
    raw::{Answer, RawRequest},
    raw_client::{RawClient, Unsigned, update_path},
    task::{TaskSpec, now, random_bytes},
};

use crate::{
    COORDINATOR,
    cohort::{assert_accepted, await_version, draw, enrol, sent_by, verify},
};

/// The distance of the tests from the limit of clock skew, in milliseconds. It is needed because the coordinator reads
/// its clock slightly later than the test.
const SKEW_MARGIN_MILLISECONDS: u64 = 60_000;

/// A name, the change before signing, and the expected error code.
type SignedCase = (&'static str, fn(&mut Unsigned), ErrorCode);

const SIGNED_CASES: &[SignedCase] = &[
    ("too old", |r| r.timestamp = beyond(-(CLOCK_SKEW_MILLISECONDS_MAX as i64)), ClockSkew),
    ("of the future", |r| r.timestamp = beyond(CLOCK_AHEAD_MILLISECONDS_MAX as i64), ClockSkew),
    ("of 1970", |r| r.timestamp = Timestamp(0), ClockSkew),
    ("of the last moment", |r| r.timestamp = Timestamp(u64::MAX), ClockSkew),
    ("an unknown client", |r| r.client = Some(ClientId::from_random_bytes([7; 16])), ClientUnknown),
    ("nobody", |r| r.client = None, SignatureMissing),
    ("a short nonce", |r| r.nonce.truncate(31), MalformedRequest),
    ("a long nonce", |r| r.nonce.push('0'), MalformedRequest),
    ("no hexadecimal nonce", |r| r.nonce.replace_range(..1, "g"), MalformedRequest),
    ("an empty nonce", |r| r.nonce.clear(), MalformedRequest),
    ("protocol 0", |r| r.protocol = 0, UnsupportedProtocolVersion),
    ("protocol 3", |r| r.protocol = 3, UnsupportedProtocolVersion),
    ("protocol 1 with a coordinator's name", |r| r.protocol = 1, SignatureInvalid),
    ("another coordinator", |r| r.audience = Some("other.example".into()), AudienceMismatch),
    ("no coordinator", |r| r.audience = None, MalformedRequest),
    ("another body's digest", |r| r.content = UpdateDigest::of(b"{}"), SignatureInvalid),
    ("another body", |r| r.body.push(b' '), SignatureInvalid),
];

/// A name, the change after signing, and the expected error code.
type AlteredCase = (&'static str, fn(RawRequest) -> RawRequest, ErrorCode);

const ALTERED_CASES: &[AlteredCase] = &[
    ("no signature", |r| r.without(headers::SIGNATURE), SignatureMissing),
    ("an empty signature", |r| r.with(headers::SIGNATURE, ""), SignatureInvalid),
    ("no base64", |r| r.with(headers::SIGNATURE, "!!!!"), SignatureInvalid),
    ("a signature of 64 zeros", |r| r.with(headers::SIGNATURE, "A".repeat(86) + "=="), SignatureInvalid),
    ("a longer signature", |r| r.with(headers::SIGNATURE, "A".repeat(1000)), SignatureInvalid),
    ("no client", |r| r.without(headers::CLIENT), SignatureMissing),
    ("a client that is no id", |r| r.with(headers::CLIENT, "me"), MalformedRequest),
    ("another nonce", |r| r.with(headers::NONCE, "0".repeat(32)), SignatureInvalid),
    ("another time", |r| r.with(headers::TIMESTAMP, now().0 + 1), SignatureInvalid),
    ("no time", |r| r.without(headers::TIMESTAMP), MalformedRequest),
    ("two times", |r| r.and(headers::TIMESTAMP, now().0), MalformedRequest),
    ("a time that is no number", |r| r.with(headers::TIMESTAMP, "now"), MalformedRequest),
    ("a time of 2^64", |r| r.with(headers::TIMESTAMP, "18446744073709551616"), MalformedRequest),
    ("another coordinator's request", |r| r.with(headers::AUDIENCE, "127.0.0.1"), SignatureInvalid),
    ("two coordinators", |r| r.and(headers::AUDIENCE, "localhost"), MalformedRequest),
    ("another protocol", |r| r.with(headers::PROTOCOL, "1"), SignatureInvalid),
    ("no protocol", |r| r.without(headers::PROTOCOL), MalformedRequest),
    ("protocol 65536", |r| r.with(headers::PROTOCOL, "65536"), MalformedRequest),
    ("two digests", |r| r.and(headers::CONTENT_DIGEST, "0".repeat(64)), MalformedRequest),
    (
        "another path",
        |mut r| {
            r.path = "/v1/check-in?wait_seconds=1".into();
            r
        },
        SignatureInvalid,
    ),
    (
        "no query",
        |mut r| {
            r.path = "/v1/check-in".into();
            r
        },
        SignatureInvalid,
    ),
];

/// Returns a timestamp that exceeds the allowed clock skew, in the past or in the future.
fn beyond(edge_milliseconds: i64) -> Timestamp {
    let margin = edge_milliseconds.signum() * SKEW_MARGIN_MILLISECONDS as i64;
    Timestamp(now().0.saturating_add_signed(edge_milliseconds + margin))
}

#[track_caller]
fn assert_code(name: &str, answer: &Answer, expected: ErrorCode) {
    assert_eq!(answer.code(), Some(expected), "{name}: {} {}", answer.status, answer.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_fresh_and_unaltered_requests_of_enrolled_clients_are_believed() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 2).await;
    let client = &clients[0];

    for (name, alter, expected) in SIGNED_CASES {
        let mut request = client.check_in(0);
        alter(&mut request);
        let answer = client.send(&request).await;
        assert_code(name, &answer, *expected);
        let server_time = answer.problem().and_then(|problem| problem.server_time);
        assert_eq!(
            server_time.is_some(),
            *expected == ClockSkew,
            "{name}: whoever is wrong is told the time"
        );
    }
    for (name, alter, expected) in ALTERED_CASES {
        let signed = client.check_in(0).sign(&client.key);
        assert_code(name, &deployment.endpoint.send(&alter(signed)).await, *expected);
    }
    let mut ahead = client.check_in(0);
    ahead.timestamp = Timestamp(now().0 + CLOCK_AHEAD_MILLISECONDS_MAX / 2);
    assert_eq!(client.send(&ahead).await.status, 200, "within the allowed skew");
    let mut first = client.check_in(0);
    (first.protocol, first.audience) = (1, None);
    assert_eq!(client.send(&first).await.status, 200, "protocol 1 names no coordinator");
    of_other_keys(client, &clients[1]).await;
    replayed(client).await;

    // The refused requests have changed nothing, so the round can continue.
    let members = draw(&deployment, &clients).await;
    let upload = members[0].client.upload(members[0].id(), &members[0].update.bytes());
    let of_other_method = RawRequest { method: "GET".into(), ..upload.sign(&members[0].client.key) };
    assert_code("another method", &deployment.endpoint.send(&of_other_method).await, SignatureInvalid);
    for member in &members {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;
    verify(&deployment, &sent_by(&members)).await;
    deployment.assert_unharmed().await;
}

/// Sends requests that are signed with keys that are not the client's, and signatures in a non-canonical form.
async fn of_other_keys(client: &RawClient, other: &RawClient) {
    let request = client.check_in(0);
    let stranger = SigningKey::from_bytes(&random_bytes());
    for (name, key) in [("a stranger's key", &stranger), ("another client's key", &other.key)] {
        assert_code(name, &client.endpoint.send(&request.sign(key)).await, SignatureInvalid);
    }
    let in_other_name = RawClient { id: other.id, ..client.clone() };
    assert_code("another's name", &client.send(&in_other_name.check_in(0)).await, SignatureInvalid);
    let signed = client.check_in(0).sign(&client.key);
    let signature = signed.headers.iter().find(|(name, _)| name == headers::SIGNATURE);
    let text = &signature.expect("it is signed").1;
    for variant in [format!("{text}="), text.trim_end_matches('=').to_owned(), format!(" {text}x")] {
        let answer = client.endpoint.send(&signed.clone().with(headers::SIGNATURE, variant)).await;
        assert_code("a signature in another form", &answer, SignatureInvalid);
    }
}

/// Sends the same request twice, and then uses its nonce in a different request.
async fn replayed(client: &RawClient) {
    let signed = client.check_in(0).sign(&client.key);
    assert_eq!(client.endpoint.send(&signed).await.status, 200);
    assert_code("a replay", &client.endpoint.send(&signed).await, RequestReplayed);
    let mut reused = client.check_in(1);
    let nonce = signed.headers.iter().find(|(name, _)| name == headers::NONCE);
    reused.nonce = nonce.expect("it has a nonce").1.clone();
    assert_code("a nonce for two requests", &client.send(&reused).await, RequestReplayed);
    // A request with an invalid signature does not use up its nonce.
    let fresh = client.check_in(0);
    let forged = fresh.sign(&SigningKey::from_bytes(&random_bytes()));
    assert_code("a forgery", &client.endpoint.send(&forged).await, SignatureInvalid);
    assert_eq!(client.send(&fresh).await.status, 200, "a forger cannot use up another's nonce");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_client_is_out_and_the_round_goes_on() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 3, 1).with_scheduling("reporting_deadline_seconds", 10);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let members = draw(&deployment, &enrol(&deployment, 3).await).await;
    let revoked = &members[0];
    let storage = deployment.storage().await;
    let id = revoked.client.id.expect("it is enrolled");
    let revoked_client = storage.revoke_client(deployment.task.organisation, id, TokenAfter::Open, now());
    revoked_client.await.expect("it can be revoked");
    storage.close().await;

    let client = &revoked.client;
    let blob = format!("/v1/blobs/{}", revoked.assignment.weights.digest);
    for request in [
        client.check_in(5),
        client.get(&blob),
        client.get(&update_path(revoked.id())),
        client.upload(revoked.id(), &revoked.update.bytes()),
        client.enrolment(&deployment.task.token),
    ] {
        let name = format!("{} {}", request.method, request.path);
        assert_code(&name, &client.send(&request).await, ClientRevoked);
    }
    for member in &members[1..] {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;
    verify(&deployment, &sent_by(&members[1..])).await;
    deployment.assert_unharmed().await;
}
