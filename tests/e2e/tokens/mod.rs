//! Tests enrolment with tokens that are unknown, expired, revoked or used up, and concurrent use of one token.

mod jwt;
mod share;
mod sites;

use std::collections::BTreeSet;

use ed25519_dalek::SigningKey;
use folkmoot_api::AdminClient;
use folkmoot_protocol::{
    ErrorCode::{self, *},
    Role, Timestamp,
    limits::ENROLMENT_BYTES_MAX,
    messages::EnrolResponse,
};
use folkmoot_storage::{SqlStorage, TokenRepository};
use folkmoot_tests::{
    deployment::Deployment,
    keys::key,
    raw_client::RawClient,
    task::{TaskSpec, create_token, now, random_bytes},
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::COORDINATOR;

/// Enrols a new client and returns the error code; `None` if the client was enrolled.
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

/// Tries to enrol with keys that are invalid, weak, or in use by another client.
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
    // A client may repeat an enrolment whose response was lost. The same key must get the same id without using the
    // token again.
    for client in &enrolled {
        let again: EnrolResponse = client.send(&client.enrolment(&token)).await.json();
        assert!(ids.contains(&again.client_id));
    }
    assert_eq!(code_of(&deployment, &token).await, Some(EnrolmentTokenExhausted));
    deployment.assert_unharmed().await;
}

/// Creates an admin's API key. Returns a client of the administrative API with this key.
async fn admin(deployment: &Deployment, storage: &SqlStorage) -> AdminClient {
    let key = key(storage, deployment.task.organisation, Role::Admin).await;
    let certificate = deployment.http_settings().certificate_pem;
    AdminClient::new(&deployment.url(), &key.to_string(), certificate).expect("its address is one")
}

/// Regression test: a device whose key was revoked could enrol again with a new key and its old token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_device_does_not_come_back_by_its_token() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let (storage, task) = (deployment.storage().await, &deployment.task);
    let [own, other] = [
        create_token(&storage, task.organisation, &task.population, |_| {}).await,
        create_token(&storage, task.organisation, &task.population, |_| {}).await,
    ];
    let admin = admin(&deployment, &storage).await;
    storage.close().await;
    let enrol = async |client: &mut RawClient, token: &str| {
        let response: EnrolResponse = client.send(&client.enrolment(token)).await.json();
        client.id = Some(response.client_id);
        response.client_id
    };
    let mut clients: [RawClient; 3] = std::array::from_fn(|_| RawClient::new(&deployment.endpoint));
    let [device, neighbour, stranger] = &mut clients;
    let id = enrol(device, &own).await;
    enrol(neighbour, &own).await;
    enrol(stranger, &other).await;

    let revoked = admin.revoke_client(id, false).await.expect("it can be revoked");
    let (own_id, _) = own.split_once('.').expect("a token has two parts");
    assert_eq!((revoked.client.token_id.as_deref(), revoked.token_closed), (Some(own_id), true));
    assert_eq!(device.send(&device.check_in(1)).await.code(), Some(ClientRevoked));
    for _ in 0..3 {
        assert_eq!(code_of(&deployment, &own).await, Some(EnrolmentTokenClosed), "with a new key");
    }
    assert_eq!(device.send(&device.enrolment(&own)).await.code(), Some(ClientRevoked), "with its old key");
    assert_eq!(neighbour.send(&neighbour.check_in(1)).await.code(), None, "others go on");
    assert_eq!(neighbour.send(&neighbour.enrolment(&own)).await.code(), None, "a lost answer is repeated");
    // A device with another token can still enrol, as the threat model says.
    assert_eq!(code_of(&deployment, &other).await, None);

    let all = admin.revoke_token_and_clients(own_id).await.expect("it can be revoked");
    assert_eq!(all.clients_revoked, 1, "the neighbour, as the device was revoked before");
    assert_eq!(neighbour.send(&neighbour.check_in(1)).await.code(), Some(ClientRevoked));
    assert_eq!(stranger.send(&stranger.check_in(1)).await.code(), None, "it came by another token");
    assert_eq!(code_of(&deployment, &own).await, Some(EnrolmentTokenInvalid));
    deployment.assert_unharmed().await;
}
