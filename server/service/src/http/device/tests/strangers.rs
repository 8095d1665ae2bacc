//! Tests of requests from unauthenticated senders: the coordinator keeps nothing from these requests in memory.

use std::net::IpAddr;

use axum::{extract::ConnectInfo, http::request::Builder};
use folkmoot_protocol::{Role, messages::EnrolRequest};

use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, CheckInRepository};
use futures::stream;

use super::*;
use folkmoot_rounds::credential::Credential;

/// Returns the head of a request that is signed with `key`, and its nonce.
pub(super) fn signed(
    key: &SigningKey,
    path: &str,
    client: Option<ClientId>,
    nonce: &str,
    body: &[u8],
) -> Builder {
    let parts = SignedParts {
        method: "POST",
        path,
        client,
        protocol: PROTOCOL_VERSION,
        timestamp: START,
        nonce,
        content: UpdateDigest::of(body),
        upload: None,
        audience: Some("localhost"),
    };
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("content-type", "application/json")
        .header(headers::PROTOCOL, PROTOCOL_VERSION)
        .header(headers::AUDIENCE, "localhost")
        .header(headers::TIMESTAMP, START.0)
        .header(headers::NONCE, nonce)
        .header(headers::CONTENT_DIGEST, parts.content.to_string())
        .header(headers::SIGNATURE, signing::sign(key, &parts));
    match client {
        Some(client) => request.header(headers::CLIENT, client.to_string()),
        None => request,
    }
}

/// Returns a body that never arrives.
fn never() -> Body {
    Body::from_stream(stream::pending::<Result<Bytes, std::convert::Infallible>>())
}

impl Edge {
    async fn code_of(&self, request: Request<Body>) -> Option<ErrorCode> {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        code(serde_json::from_slice(&body).ok())
    }

    /// Tries to enrol with a token that does not exist.
    async fn guess(&self, nonce: &str) -> Option<ErrorCode> {
        let token = format!("{:016x}.{:064x}", 1, 2);
        let public_key = signing::encode_public_key(&self.key);
        let body = serde_json::to_vec(&EnrolRequest { token, public_key }).unwrap();
        let request = signed(&self.key, "/v1/enrol", None, nonce, &body);
        self.code_of(request.body(Body::from(body)).unwrap()).await
    }
}

/// A regression test: the coordinator once waited for the body, and kept it in memory.
#[tokio::test]
async fn a_request_is_refused_before_its_body_is_read() {
    let edge = Edge::new().await;
    let stranger = SigningKey::from_bytes(&[9; 32]);
    let nonce = format!("{:032x}", 1);
    let request = signed(&stranger, "/v1/check-in", Some(edge.client), &nonce, b"{}").body(never()).unwrap();
    assert_eq!(edge.code_of(request).await, Some(ErrorCode::SignatureInvalid));
}

#[tokio::test]
async fn a_wrong_token_is_not_remembered_and_many_of_them_end_the_guessing() {
    let mut edge = Edge::new().await;
    let nonce = format!("{:032x}", 1);
    for _ in 0..2 {
        let refused = edge.guess(&nonce).await;
        assert_eq!(refused, Some(ErrorCode::EnrolmentTokenInvalid), "not replayed: its nonce is not kept");
    }
    let mut answers = Vec::new();
    for _ in 0..200 {
        answers.push(edge.guess(&nonce).await);
    }
    let guessed = answers.iter().take_while(|code| **code == Some(ErrorCode::EnrolmentTokenInvalid)).count();
    assert!((10..200).contains(&guessed), "{guessed}");
    assert!(answers[guessed..].iter().all(|code| *code == Some(ErrorCode::RateLimited)));
    // An enrolled client at the same address is not affected.
    let (status, _) = edge.send("GET", "/v1/assignments/none/update", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn wrong_api_keys_end_the_guessing_and_a_right_one_is_let_in() {
    let edge = Edge::new().await;
    let right = Credential::from_random_bytes([4; 8], [5; 32]);
    let record = ApiKeyRecord {
        id: right.id.clone(),
        organisation_id: edge.organisation,
        name: "right".into(),
        role: Role::Viewer,
        secret_hash: right.secret_hash(),
        created_at: START,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    edge.coordinator.storage.create_api_key(&record).await.unwrap();
    let ask = async |key: &Credential, address: [u8; 4]| {
        let request = Request::builder()
            .uri("/v1/admin/tasks")
            .header("authorization", format!("Bearer {key}"))
            .extension(ConnectInfo(IpAddr::from(address)));
        edge.code_of(request.body(Body::empty()).unwrap()).await
    };
    let (one, other) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let wrong = Credential::from_random_bytes([4; 8], [6; 32]);
    let mut answers = Vec::new();
    for _ in 0..200 {
        answers.push(ask(&wrong, one).await);
    }
    let guessed = answers.iter().take_while(|code| **code == Some(ErrorCode::ApiKeyInvalid)).count();
    assert!((10..200).contains(&guessed), "{guessed}");
    assert!(answers[guessed..].iter().all(|code| *code == Some(ErrorCode::RateLimited)));
    assert_eq!(ask(&right, one).await, None, "a right key is not refused for the wrong ones");
    assert_eq!(ask(&wrong, other).await, Some(ErrorCode::ApiKeyInvalid));
}

/// Simulates a phone that loses its network while it waits.
#[tokio::test]
async fn a_poll_that_is_cut_counts_no_more_and_is_not_drawn() {
    let edge = Edge::new().await;
    let (storage, population) = (&edge.coordinator.storage, "digits".parse().unwrap());
    let body = br#"{"sdk_version":"1.0.0","example_count":10}"#;
    let poll = |nonce: u32| {
        let path = "/v1/check-in?wait_seconds=60";
        let request = signed(&edge.key, path, Some(edge.client), &format!("{nonce:032x}"), body);
        Box::pin(edge.router.clone().oneshot(request.body(Body::from(&body[..])).unwrap()))
    };
    let waiting = || storage.waiting(edge.organisation, &population, START);
    let mut first = poll(1);
    while edge.coordinator.check_ins.is_empty() || waiting().await.unwrap().is_empty() {
        assert!(futures::poll!(&mut first).is_pending());
        tokio::task::yield_now().await;
    }
    drop(first);
    assert!(edge.coordinator.check_ins.is_empty());
    while !waiting().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}
