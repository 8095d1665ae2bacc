//! Enrolment with tokens that are unknown, over, used up, or raced for.

use std::collections::BTreeSet;

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    ErrorCode::{self, *},
    Timestamp,
    limits::ENROLMENT_BYTES_MAX,
    messages::EnrolResponse,
};
use folkmoot_storage::TokenRepository;
use folkmoot_tests::{
    deployment::Deployment,
    raw_client::RawClient,
    task::{TaskSpec, create_token, now, random_bytes},
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::COORDINATOR;

/// Enrols a new client and returns the code of the refusal, if it is one.
async fn code_of(deployment: &Deployment, token: &str) -> Option<ErrorCode> {
    let client = RawClient::new(&deployment.endpoint);
    client.send(&client.enrolment(token)).await.code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_valid_token_enrols() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let (storage, task) = (deployment.storage().await, &deployment.task);
    let token = task.token.as_str();
    let (id, secret) = token.split_once('.').expect("a token has two parts");

    let other_secret = format!("{id}.{}", "0".repeat(64));
    let unknown = format!("{}.{secret}", "0".repeat(16));
    let (upper, padded, halves) = (token.to_uppercase(), format!("{token} "), token.replace('.', ""));
    let long = "a".repeat(4_000);
    for bad in ["", ".", id, secret, "%00", &other_secret, &unknown, &upper, &padded, &halves, &long] {
        assert_eq!(code_of(&deployment, bad).await, Some(EnrolmentTokenInvalid), "{bad:.90}");
    }
    let longer = "a".repeat(ENROLMENT_BYTES_MAX);
    assert_eq!(code_of(&deployment, &longer).await, Some(PayloadTooLarge));
    let create = |alter: fn(&mut folkmoot_storage::TokenRecord)| {
        create_token(&storage, task.organisation, &task.population, alter)
    };
    let expired = create(|token| token.expires_at = Some(Timestamp(now().0 - 1))).await;
    assert_eq!(code_of(&deployment, &expired).await, Some(EnrolmentTokenExpired));
    let not_yet = create(|token| token.expires_at = Some(now().plus_seconds(3600))).await;
    assert_eq!(code_of(&deployment, &not_yet).await, None);
    let exhausted = create(|token| token.uses_max = Some(0)).await;
    assert_eq!(code_of(&deployment, &exhausted).await, Some(EnrolmentTokenExhausted));
    let revoked = create(|_| {}).await;
    let revoked_id = revoked.split('.').next().expect("a token has an id");
    storage.revoke_token(task.organisation, revoked_id, now()).await.expect("it can be revoked");
    assert_eq!(code_of(&deployment, &revoked).await, Some(EnrolmentTokenInvalid));
    with_bad_keys(&deployment).await;
    storage.close().await;
    deployment.assert_unharmed().await;
}

/// Enrols with keys that are none, weak, or another's.
async fn with_bad_keys(deployment: &Deployment) {
    let client = RawClient::new(&deployment.endpoint);
    let mut neutral = vec![b'A'; 43];
    neutral.splice(..2, *b"AQ");
    let neutral = String::from_utf8(neutral).expect("it is ASCII") + "=";
    let keys = ["", "AAAA", "not base64", &"A".repeat(44), &neutral, &"A".repeat(5_000)];
    for public_key in keys {
        let message = json!({ "token": deployment.task.token, "public_key": public_key });
        let answer = client.send(&client.message("/v1/enrol", &message)).await;
        assert_eq!(answer.code(), Some(SignatureInvalid), "{public_key:.50}");
    }
    let stranger = SigningKey::from_bytes(&random_bytes());
    let request = client.enrolment(&deployment.task.token);
    assert_eq!(deployment.endpoint.send(&request.sign(&stranger)).await.code(), Some(SignatureInvalid));
    let once = request.sign(&client.key);
    assert_eq!(deployment.endpoint.send(&once).await.status, 200);
    assert_eq!(deployment.endpoint.send(&once).await.code(), Some(RequestReplayed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_race_for_the_last_uses_do_not_all_get_one() {
    const USES: usize = 3;
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let (storage, task) = (deployment.storage().await, &deployment.task);
    let limit = |token: &mut folkmoot_storage::TokenRecord| token.uses_max = Some(USES as u64);
    let token = create_token(&storage, task.organisation, &task.population, limit).await;
    storage.close().await;

    let mut racing = JoinSet::new();
    for _ in 0..12 {
        let (client, token) = (RawClient::new(&deployment.endpoint), token.clone());
        racing.spawn(async move { (client.send(&client.enrolment(&token)).await, client) });
    }
    let (mut ids, mut enrolled, mut exhausted) = (BTreeSet::new(), Vec::new(), 0);
    while let Some(answer) = racing.join_next().await {
        let (answer, client) = answer.expect("an enrolment is answered");
        match answer.code() {
            None => {
                ids.insert(answer.json::<EnrolResponse>().client_id);
                enrolled.push(client);
            }
            Some(EnrolmentTokenExhausted) => exhausted += 1,
            Some(code) => panic!("{code}"),
        }
    }
    assert_eq!((ids.len(), enrolled.len(), exhausted), (USES, USES, 12 - USES));
    // A lost answer is asked for again: the same key gets the same id, and no use is spent.
    for client in &enrolled {
        let again: EnrolResponse = client.send(&client.enrolment(&token)).await.json();
        assert!(ids.contains(&again.client_id));
    }
    assert_eq!(code_of(&deployment, &token).await, Some(EnrolmentTokenExhausted));
    deployment.assert_unharmed().await;
}
