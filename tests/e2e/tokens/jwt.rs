//! Tests enrolment with JSON Web Tokens that the app's own server signs.

use folkmoot_api::tokens::CreateTokenRequest;
use folkmoot_coordinator::privacy::PopulationPrivacy;
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ErrorCode, UserKey, messages::EnrolResponse};
use folkmoot_storage::{ClientRepository, PopulationRepository, PrivacyChange, TokenRepository};
use folkmoot_tests::{
    deployment::Deployment,
    raw_client::RawClient,
    task::{TaskSpec, now},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;

use super::admin;
use crate::COORDINATOR;

/// A key pair that was made for this test.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEICLYXrq76G8ezRAGlhCcV7IQBG/bBGQgTYZL8BEmsxkm\n-----END PRIVATE KEY-----\n";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEABRtLi8CpGS+WscR2oSi+IL28rOROsBxIfWIBf/oSb90=\n-----END PUBLIC KEY-----\n";

fn jwt(token_id: &str, user: &str) -> String {
    let claims = json!({ "aud": token_id, "sub": user, "exp": now().0 / 1000 + 600 });
    let key = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).expect("it is a key");
    encode(&Header::new(Algorithm::EdDSA), &claims, &key).expect("it can be signed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_the_app_enrol_under_their_own_names() {
    let deployment = Deployment::start(COORDINATOR, &TaskSpec::synthetic(&[4, 3], 2, 1), |_| {}).await;
    let (organisation, population) = (deployment.task.organisation, deployment.task.population.clone());
    let storage = deployment.storage().await;
    let admin = admin(&deployment, &storage).await;
    let users = PopulationPrivacy { unit: Unit::User, budget: None };
    let change = PrivacyChange { privacy: users, weakened: None, may_weaken: true, by: "test", now: now() };
    storage.set_population_privacy(organisation, &population, &change).await.unwrap();
    let request = CreateTokenRequest {
        jwt_keys: vec![PUBLIC.to_owned()],
        uses_max: Some(3),
        ..CreateTokenRequest::of(population.clone())
    };
    let created = admin.create_token_from(&request).await.unwrap();
    let id = created.record.id.as_str();
    assert_eq!((&created.token, &created.record.jwt_keys), (&created.record.id, &request.jwt_keys));

    let mut devices = Vec::new();
    for user in ["ann", "ann", "bob"] {
        let client = RawClient::new(&deployment.endpoint);
        let enrolled: EnrolResponse = client.send(&client.enrolment(&jwt(id, user))).await.json();
        let record = storage.client(enrolled.client_id).await.unwrap().unwrap();
        assert_eq!(record.user_key, Some(UserKey::of(organisation, &population, user)));
        assert_eq!(record.token_id.as_deref(), Some(id));
        devices.push(client);
    }
    let code = async |client: &RawClient, token: &str| client.send(&client.enrolment(token)).await.code();
    // A repeated enrolment is the same client, and a device keeps its user.
    assert_eq!(code(&devices[0], &jwt(id, "ann")).await, None);
    assert_eq!(code(&devices[0], &jwt(id, "bob")).await, Some(ErrorCode::EnrolmentTokenInvalid));
    let new = RawClient::new(&deployment.endpoint);
    assert_eq!(code(&new, &jwt(id, "eve")).await, Some(ErrorCode::EnrolmentTokenExhausted));
    // Neither the id nor a made-up secret enrols, and a token without keys accepts no JWT.
    for wrong in [id, &format!("{id}.{}", "0".repeat(64)), &jwt("0123456789abcdef", "ann")] {
        assert_eq!(code(&new, wrong).await, Some(ErrorCode::EnrolmentTokenInvalid), "{wrong}");
    }
    let plain = deployment.task.token.split('.').next().expect("it has an id");
    assert_eq!(code(&new, &jwt(plain, "ann")).await, Some(ErrorCode::EnrolmentTokenInvalid));
    storage.revoke_token(organisation, id, now()).await.unwrap();
    assert_eq!(code(&devices[0], &jwt(id, "ann")).await, Some(ErrorCode::EnrolmentTokenInvalid));
    deployment.assert_unharmed().await;
}
