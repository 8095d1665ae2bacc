//! Tests texts that are invalid names, and numbers that a database cannot store. The API must reject them with an error
//! code, with either database.

use folkmoot_api::AdminClient;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_protocol::ErrorCode::{
    self, MalformedRequest, ModelVersionUnknown, ResourceUnknown, TaskInvalid,
};
use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_test_postgres::TestPostgres;
use folkmoot_tests::{
    raw::{Answer, Endpoint, RawRequest},
    raw_client::RawClient,
};
use serde_json::{Value, json};

/// The method, the path after `/v1/admin`, the body, and the expected error code.
type Case = (&'static str, String, Option<Value>, ErrorCode);

/// Texts that would move a terminal's cursor, start a new line, reverse the reading direction, or cause a database
/// error.
const TEXTS: [&str; 6] = ["a\0b", "\u{1b}[2J", "two\nlines", "bell\u{7}", "\u{202e}fdp", "\u{9b}31m"];
/// Numbers above 2^53.
const NUMBERS: [u64; 4] = [(1 << 53) + 1, i64::MAX as u64, 1 << 63, u64::MAX];

fn cases(task: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for text in TEXTS {
        let key = json!({ "name": text, "role": "viewer" });
        cases.push(("POST", "api-keys".into(), Some(key), MalformedRequest));
        let token = json!({ "population": text });
        cases.push(("POST", "tokens".into(), Some(token), MalformedRequest));
        let weaken = json!({ "unit": "client", "weaken": text });
        cases.push(("POST", "populations/digits/privacy".into(), Some(weaken), MalformedRequest));
    }
    for number in NUMBERS {
        let token = json!({ "population": "digits", "uses_max": number });
        cases.push(("POST", "tokens".into(), Some(token), MalformedRequest));
        let token = json!({ "population": "digits", "expires_in_seconds": number });
        cases.push(("POST", "tokens".into(), Some(token), MalformedRequest));
        let back = json!({ "version": number });
        cases.push(("POST", format!("tasks/{task}/roll-back"), Some(back), MalformedRequest));
        cases.push(("GET", format!("tasks/{task}/versions/{number}/model"), None, ModelVersionUnknown));
        for list in ["rounds", "versions"] {
            cases.push(("GET", format!("tasks/{task}/{list}?before={number}"), None, MalformedRequest));
        }
        for side in ["before", "after"] {
            cases.push(("GET", format!("populations/digits/ledger?{side}={number}"), None, MalformedRequest));
        }
        cases.push(("GET", format!("tasks/{task}/series?points={number}"), None, MalformedRequest));
    }
    for id in ["%00", "a%00b", "0123456789abcde%00", "%1b%5b2J"] {
        cases.push(("DELETE", format!("api-keys/{id}"), None, ResourceUnknown));
        cases.push(("DELETE", format!("tokens/{id}"), None, ResourceUnknown));
        cases.push(("GET", format!("tasks?name={id}"), None, MalformedRequest));
    }
    cases
}

/// Starts a coordinator with this database and with a task, and runs all cases.
async fn play(database: Option<String>) {
    let folder = tempfile::tempdir().expect("the test made it so");
    let config = HostConfig { database, ..HostConfig::loopback(folder.path().join("coordinator")) };
    let host = Host::start(config, clock::system_clock(), clock::system_chance(), None)
        .await
        .expect("the test made it so");
    let pem = std::fs::read(host.root_certificate.clone().expect("the test made it so"))
        .expect("the test made it so");
    let key = host.first_api_key.clone().expect("the test made it so");
    let api = AdminClient::new(&host.url(), &key, Some(pem.clone())).expect("the test made it so");
    let endpoint = Endpoint::new(host.address.port(), &pem);

    let model = api.create_model(mlp(&[4, 3], 1)).await.expect("the test made it so").model;
    let described = |name: &str| {
        json!({
            "name": name, "population": "digits",
            "plan": {
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 16,
            },
            "scheduling": { "kind": "synchronous", "report_goal": 2 }, "stop": { "rounds": 3 },
        })
    };
    let description = serde_json::from_value(described("digits")).expect("the test made it so");
    let task = api.create_task(description, model, false).await.expect("the test made it so").id.to_string();

    let mut cases = cases(&task);
    for text in TEXTS {
        let code = if text.contains('\0') { MalformedRequest } else { TaskInvalid };
        let body = json!({ "description": described(text), "model": model, "activate": false });
        cases.push(("POST", "tasks".into(), Some(body), code));
    }
    for (method, path, body, expected) in &cases {
        let mut request = RawRequest::new(method, &format!("/v1/admin/{path}"))
            .with("authorization", format!("Bearer {key}"));
        if let Some(body) = body {
            request = request.with("content-type", "application/json").with_body(body.to_string());
        }
        let answer = endpoint.send(&request).await;
        assert_refused(&answer, *expected, &format!("{method} {path} {body:?}"));
    }
    devices(&endpoint, &api).await;
    host.stop().await.expect("the test made it so");
}

/// Sends invalid texts and numbers in the messages of devices.
async fn devices(endpoint: &Endpoint, api: &AdminClient) {
    let token = api
        .create_token("digits".parse().expect("the test made it so"), None, None)
        .await
        .expect("the test made it so")
        .token;
    let client = RawClient::enrolled(endpoint, &token).await;
    let honest = json!({ "sdk_version": "1.0.0", "example_count": 10, "attributes": {}, "codecs": [] });
    let check_in = |body: &Value| client.message("/v1/check-in?wait_seconds=0", body);
    assert_eq!(client.send(&check_in(&honest)).await.status, 200);
    for text in TEXTS {
        for (field, value) in [
            ("sdk_version", json!(text)),
            ("attributes", json!({ "city": text })),
            ("attributes", json!({ text: "city" })),
            ("codecs", json!([text])),
        ] {
            let mut body = honest.clone();
            body[field] = value;
            let answer = client.send(&check_in(&body)).await;
            assert_refused(&answer, MalformedRequest, &format!("check-in {body}"));
        }
    }
    let nobodys = "6f2c5a1e-8a3b-4c1d-9e0f-2b7d6a5c4e3f";
    for number in NUMBERS {
        let mut body = honest.clone();
        body["example_count"] = number.into();
        assert_refused(&client.send(&check_in(&body)).await, MalformedRequest, &format!("check-in {body}"));
        for field in ["training_milliseconds", "download_bytes", "upload_bytes"] {
            let mut body = json!({ "training_milliseconds": 1, "download_bytes": 1, "upload_bytes": 1 });
            body[field] = number.into();
            let answer =
                client.send(&client.message(&format!("/v1/assignments/{nobodys}/report"), &body)).await;
            assert_refused(&answer, MalformedRequest, &format!("report {body}"));
        }
    }
    let abort = json!({ "reason": "stopped", "detail": "a\0b" });
    let answer = client.send(&client.message(&format!("/v1/assignments/{nobodys}/abort"), &abort)).await;
    assert_refused(&answer, MalformedRequest, "abort");
}

#[track_caller]
fn assert_refused(answer: &Answer, expected: ErrorCode, what: &str) {
    assert_eq!(answer.code(), Some(expected), "{what}: {} {}", answer.status, answer.text());
    assert_eq!(answer.status, expected.http_status(), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_text_and_numbers_are_refused_over_sqlite() {
    play(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_text_and_numbers_are_refused_over_postgresql() {
    // If PostgreSQL is missing, `start` has printed that the test is skipped.
    let Some(postgres) = TestPostgres::start() else { return };
    play(Some(postgres.database())).await;
}
