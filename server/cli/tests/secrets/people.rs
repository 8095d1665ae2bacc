//! The secrets of sign-in, of JSON Web Tokens of an app's users, and of a committee member.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use folkmoot_api::{AdminClient, session::DeviceSignInState, tokens::CreateTokenRequest};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_rounds::clock::system_clock;
use folkmoot_sign_in::issuer::{CLIENT, Issuer, Key};
use serde_json::json;
use std::{collections::BTreeMap, fs, path::Path};

use super::{WORKS, description, secret, take_part};
use crate::operator::{Serving, program_after};

/// The secrets of the coordinator at the provider, and of a session there.
const CLIENT_SECRET: &str = "5e1fc0de-of-the-client";
const REFRESH_TOKEN: &str = "4ef4e5ab-of-the-session";

/// Returns a public Ed25519 key as PEM.
fn pem_of(key: &Key) -> String {
    let own = key.public()["x"].as_str().and_then(|x| URL_SAFE_NO_PAD.decode(x).ok()).expect("it is a JWK");
    // The fixed bytes before a key in its DER form (RFC 8410).
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let der = [&prefix[..], &own].concat();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

/// Starts a member of committees at full verbosity. Its log is in `member.log`.
fn member(folder: &Path) -> Serving {
    let program = program_after("exec 2> member.log", folder);
    Serving::start_by(program, &["--role", "committee", "--data", "member", "--log-level", "trace"])
}

/// Sends a request to the member with its token, and one with a wrong token.
async fn ask(member: &Serving, folder: &Path, token: &str) {
    let pem = fs::read(folder.join("member/ca.pem")).expect(WORKS);
    let http =
        build_http(&HttpSettings { certificate_pem: Some(pem), ..HttpSettings::default() }).expect(WORKS);
    for (token, status) in [(token, 400..=499), ("wrong", 401..=403)] {
        let request = http.post(format!("{}/v1/committee/check", member.url())).bearer_auth(token);
        let answer = request.header("content-type", "application/json").body("{}").send().await.expect(WORKS);
        assert!(status.contains(&answer.status().as_u16()), "{}", answer.status());
    }
}

/// Signs in as a person, and out. Returns the secrets that the coordinator gave out.
async fn sign_in(client: impl Fn(&str) -> AdminClient) -> [String; 2] {
    let nobody = client("");
    let begun = nobody.begin_device_sign_in("example").await.expect("the provider is there");
    let state = nobody.device_sign_in("example", &begun.device_code).await.expect("it confirms Ada");
    let DeviceSignInState::SignedIn { session, .. } = state else { panic!("Ada is not signed in") };
    let ada = client(&session);
    assert_eq!(ada.me().await.expect("it is her session").person.expect("she is a person").subject, "ada");
    ada.sign_out().await.expect("she can leave");
    [begun.device_code, secret(&session)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_people_and_committees_is_in_a_log_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let member = member(folder.path());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap().trim().to_owned();
    let issuer = Issuer::start().await;
    let id_token = Key::new(1).token(&issuer.claims("none", system_clock()()));
    issuer.set_token(id_token.clone());
    issuer.set_refresh_token(Some(REFRESH_TOKEN));
    let providers = json!([{
        "name": "example", "issuer": issuer.url, "client_id": CLIENT,
        "client_secret_variable": "CLIENT_SECRET", "roles": { "staff": "viewer" },
    }]);
    let mut program = program_after("exec 2> coordinator.log", folder.path());
    program.env("FOLKMOOT_SIGN_IN_PROVIDERS", providers.to_string()).env("CLIENT_SECRET", CLIENT_SECRET);
    let serving = Serving::start_by(program, &["--data", "data", "--log-level", "trace"]);
    let (url, pem) = (serving.url().to_owned(), fs::read(folder.path().join("data/ca.pem")).unwrap());
    let client = |key: &str| AdminClient::new(&url, key, Some(pem.clone())).unwrap();

    let [device_code, session] = sign_in(client).await;
    assert!(!issuer.requests("/revoke").is_empty(), "signing out gives up the refresh token");
    let admin = client(serving.first_api_key());
    let model = admin.create_model(mlp(&[4, 3], 1)).await.unwrap().model;
    admin.create_task(description(), model, true).await.unwrap();
    let of_app = Key::new(7);
    let token = CreateTokenRequest {
        jwt_keys: vec![pem_of(&of_app)],
        uses_max: Some(1),
        ..CreateTokenRequest::of("digits".parse().unwrap())
    };
    let token = admin.create_token_from(&token).await.unwrap().record.id;
    let expires = system_clock()().0 / 1000 + 600;
    let jwt = of_app.token(&json!({ "aud": token, "sub": "user-8a1c", "exp": expires }));
    take_part(folder.path(), &url, &jwt);
    let member_token = read("member/token");
    ask(&member, folder.path(), &member_token).await;
    serving.stop();
    member.stop();

    let signature_of = |token: &str| token.rsplit_once('.').expect("it is signed").1.to_owned();
    let secrets = BTreeMap::from([
        ("coordinator's secret at the provider", CLIENT_SECRET.to_owned()),
        ("refresh token", REFRESH_TOKEN.to_owned()),
        ("ID token", signature_of(&id_token)),
        ("device code", device_code),
        ("session", session),
        ("app's token for a user", signature_of(&jwt)),
        ("user's id in the app", "user-8a1c".to_owned()),
        ("member's keys", read("member/member-key")),
        ("member's token", member_token),
    ]);
    for log in ["coordinator.log", "client.log", "member.log"] {
        let text = read(log);
        assert!(text.lines().filter(|line| line.contains("TRACE")).count() > 10, "everything is in {log}");
        for (name, secret) in &secrets {
            let found = text.lines().find(|line| line.contains(secret.as_str()));
            assert_eq!(found, None, "{name}");
        }
    }
}
