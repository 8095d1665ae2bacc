//! Tests that secrets and private data are not in the logs, even if everything is logged.

mod people;

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};

use folkmoot_api::{AdminClient, tokens::CreateTokenRequest};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_notification::recipient::Recipient;
use serde_json::{Value, json};

use crate::operator::{Serving, program_after};

/// A private attribute and an example, which the client never sends.
const AGE: &str = "41.0823719";
const EXAMPLE: &str = "0.731826";

/// Secrets of the channels for notices: a part of a URL, the key of signatures, and a password.
const HOOK: &str = "b6a1f09c77e2";
const SIGNATURES: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const PASSWORD: &str = "correct horse battery";

const WORKS: &str = "the test made it so";

fn description() -> TaskDescription {
    let description = json!({
        "name": "digits", "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 4,
        },
        "eligibility": { "device_rules": [{ "attribute": "age", "condition": { "at_least": 18 } }] },
        "scheduling": { "kind": "synchronous", "report_goal": 1, "over_selection_factor": 1.0 },
        "stop": { "rounds": 1 },
    });
    serde_json::from_value(description).expect("it is a task")
}

/// Tells the program to send notices to a chat, to a program and by mail.
fn notify(program: &mut Command, web: &Recipient, mail: &Recipient) {
    let url = format!("http://127.0.0.1:{}/{HOOK}", web.port);
    let webhooks = json!([
        { "name": "chat", "format": "slack", "url_variable": "HOOK", "events": ["task_completed"] },
        { "name": "program", "url_variable": "HOOK", "secret_variable": "SIGNATURES" },
    ]);
    let emails = json!([{
        "name": "team", "server": "127.0.0.1", "port": mail.port, "tls": "none",
        "user": "me", "password_variable": "PASSWORD", "from": "fl@example.com", "to": ["a@example.com"],
    }]);
    program
        .env("FOLKMOOT_NOTIFICATIONS_WEBHOOKS", webhooks.to_string())
        .env("FOLKMOOT_NOTIFICATIONS_EMAILS", emails.to_string())
        .envs([("HOOK", url.as_str()), ("SIGNATURES", SIGNATURES), ("PASSWORD", PASSWORD)]);
}

/// Returns the secret part of an API key, a token or a session.
fn secret(credential: &str) -> String {
    credential.split_once('.').expect("it is ID.SECRET").1.to_owned()
}

/// Signs in to the console, and returns the secret of the session and its token against forged requests.
async fn signed_in(url: &str, pem: &[u8], key: &str) -> [String; 2] {
    let settings = HttpSettings { certificate_pem: Some(pem.to_vec()), ..HttpSettings::default() };
    let http = build_http(&settings).expect(WORKS);
    let request = http.post(format!("{url}/v1/admin/session")).header("content-type", "application/json");
    let response = request.body(json!({ "api_key": key }).to_string()).send().await.expect(WORKS);
    let cookie = response.headers()["set-cookie"].to_str().expect(WORKS).to_owned();
    let session = cookie.split_once('=').expect(WORKS).1.split(';').next().expect(WORKS).to_owned();
    let body: Value = serde_json::from_slice(&response.bytes().await.expect(WORKS)).expect(WORKS);
    [secret(&session), body["csrf_token"].as_str().expect("the session has a token").to_owned()]
}

/// Runs a client at full verbosity until an update is accepted. Its log is in `client.log`.
fn take_part(folder: &Path, url: &str, token: &str) {
    let rows: String = (0..8).map(|row| format!("0.5,{EXAMPLE}9,0.25,0.125,{}\n", row % 3)).collect();
    fs::write(folder.join("examples.csv"), format!("a,b,c,d,label\n{rows}")).expect(WORKS);
    let output = program_after("exec 2> client.log", folder)
        .env("RUST_LOG", "trace")
        .args([
            "client",
            "--coordinator",
            url,
            "--ca",
            "data/ca.pem",
            "--token",
            token,
            "--data",
            "examples.csv",
        ])
        .args(["--state", "state", "--device", "cpu", "--rounds", "1"])
        .args(["--private-attribute", &format!("age={AGE}")])
        .output()
        .expect(WORKS);
    assert!(output.status.success(), "{}", fs::read_to_string(folder.join("client.log")).expect(WORKS));
    let said = String::from_utf8(output.stdout).expect(WORKS);
    assert!(!said.contains(AGE) && !said.contains(token), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_a_log_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (web, mail) = (Recipient::web().await, Recipient::mail().await);
    let mut verbose = program_after("exec 2> coordinator.log", folder.path());
    notify(&mut verbose, &web, &mail);
    let serving = Serving::start_by(verbose, &["--data", "data", "--log-level", "trace"]);
    let (url, pem) = (serving.url().to_owned(), fs::read(folder.path().join("data/ca.pem")).unwrap());
    let key = serving.first_api_key().to_owned();
    let client = |key: &str| AdminClient::new(&url, key, Some(pem.clone())).unwrap();
    let admin = client(&key);
    let model = admin.create_model(mlp(&[4, 3], 1)).await.unwrap().model;
    admin.create_task(description(), model, true).await.unwrap();
    let token =
        admin.create_token_from(&CreateTokenRequest::of("digits".parse().unwrap())).await.unwrap().token;
    let [session, against_forgery] = signed_in(&url, &pem, &key).await;
    // Somebody who has the id of the key guesses its secret.
    let guess = format!("{}.{}", key.split_once('.').unwrap().0, "5ec7e7".repeat(11).split_at(64).0);
    assert!(client(&guess).tokens().await.is_err());
    take_part(folder.path(), &url, &token);
    let (requests, mails) = (web.wait_for(2).await, mail.wait_for(1).await);
    assert!(requests.iter().all(|request| request.body.contains("digits has finished")), "{requests:?}");
    assert!(
        mails[0].body.contains("It committed all the rounds that it was to have. It has 1 round."),
        "{mails:?}"
    );
    serving.stop();

    let device_key = fs::read(folder.path().join("state/client.key")).unwrap();
    assert_eq!(device_key.len(), 32);
    let hexadecimal: String = device_key.iter().map(|byte| format!("{byte:02x}")).collect();
    let secrets = BTreeMap::from([
        ("API key", secret(&key)),
        ("guessed API key", secret(&guess)),
        ("enrolment token", secret(&token)),
        ("session", session),
        ("session's token", against_forgery),
        ("device key", hexadecimal),
        ("private attribute", AGE.to_owned()),
        ("example", EXAMPLE.to_owned()),
        ("chat's URL", HOOK.to_owned()),
        ("key of signatures", SIGNATURES.to_owned()),
        ("mail server's password", PASSWORD.to_owned()),
        ("mail server's password in Base64", STANDARD.encode(format!("\0me\0{PASSWORD}"))),
    ]);
    for (log, least) in [("coordinator.log", 1_000), ("client.log", 100)] {
        let log = fs::read(folder.path().join(log)).unwrap();
        let text = String::from_utf8_lossy(&log);
        assert!(text.lines().filter(|line| line.contains("TRACE")).count() > least, "everything is logged");
        assert!(!log.windows(32).any(|bytes| bytes == device_key), "device key");
        for (name, secret) in &secrets {
            let found = text.lines().find(|line| line.contains(secret.as_str()));
            assert_eq!(found, None, "{name}");
        }
    }
}
