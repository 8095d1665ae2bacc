//! Request ids, in the answers and in the log of a coordinator process.

use std::{fs, path::Path};

use folkmoot_client::{HttpSettings, build_http};
use serde_json::{Value, json};

use crate::operator::{Serving, program, program_after};

const WORKS: &str = "the test made it so";

/// A proxy on this machine is trusted, and nothing listens at the identity provider's address.
const CONFIGURATION: &str = "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n\n\
    [[sign_in.providers]]\nname = \"gone\"\nissuer = \"http://127.0.0.1:1\"\nclient_id = \"folkmoot\"\n\n\
    [sign_in.providers.roles]\npeople = \"viewer\"\n";

/// Asks for the current session without a key. Returns the id in the header and the one in the error.
async fn refused(url: &str, id: Option<&str>) -> [String; 2] {
    let http = build_http(&HttpSettings::default()).expect(WORKS);
    let mut request = http.get(format!("{url}/v1/admin/me"));
    if let Some(id) = id {
        request = request.header("x-request-id", id);
    }
    let answer = request.send().await.expect("it answers");
    assert_eq!(answer.status().as_u16(), 401);
    let header = answer.headers()["x-request-id"].to_str().expect(WORKS).to_owned();
    let problem: Value = serde_json::from_slice(&answer.bytes().await.expect(WORKS)).expect(WORKS);
    [header, problem["request_id"].as_str().expect("the error has the id").to_owned()]
}

/// Returns the messages of the log lines with a request's id.
fn lines_of(log: &str, id: &str) -> Vec<String> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("the log is JSON"));
    let is_of = |line: &Value| {
        let mut spans = line["spans"].as_array().into_iter().flatten();
        spans.any(|span| span["request_id"] == id)
    };
    lines.filter(is_of).map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Tries to sign in with the provider that is gone, and returns the error.
fn failed_login(folder: &Path, url: &str) -> String {
    let login = program(folder).args(["login", "--url", url]).output().expect(WORKS);
    assert_eq!(login.status.code(), Some(1));
    String::from_utf8(login.stderr).expect(WORKS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_id_in_an_answer_is_the_one_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("folkmoot.toml"), CONFIGURATION).unwrap();
    let program = program_after("exec 2> coordinator.log", folder.path());
    let arguments = ["--tls", "off", "--data", "data", "--log-format", "json", "--log-level"];
    let serving = Serving::start_by(program, &[&arguments[..], &["info,folkmoot_service=debug"]].concat());
    let url = serving.url().to_owned();

    let [own, in_body] = refused(&url, None).await;
    assert_eq!(own, in_body);
    assert_eq!(refused(&url, Some("from-the-proxy")).await, ["from-the-proxy"; 2]);
    let [replaced, _] = refused(&url, Some("{forged}")).await;
    assert!(replaced.len() == 32 && replaced != own, "{replaced}");
    let created = build_http(&HttpSettings::default()).unwrap();
    let body = json!({ "name": "dashboard", "role": "viewer" }).to_string();
    let created = created.post(format!("{url}/v1/admin/api-keys")).bearer_auth(serving.first_api_key());
    let created = created.header("content-type", "application/json").body(body).send().await.unwrap();
    let of_key = created.headers()["x-request-id"].to_str().unwrap().to_owned();
    // A fault of the server names its request on the command line.
    let error = failed_login(folder.path(), &url);
    let of_login =
        error.split("(request ").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    let of_login = of_login.to_owned();
    serving.stop();

    let log = fs::read_to_string(folder.path().join("coordinator.log")).unwrap();
    for id in [own.as_str(), "from-the-proxy", &replaced] {
        assert_eq!(lines_of(&log, id), ["refused"], "{id}");
    }
    assert_eq!(lines_of(&log, &of_key), ["API key created"]);
    assert!(lines_of(&log, &of_login).contains(&"refused".to_owned()), "{error}{log}");
    assert!(!log.contains("forged"), "{log}");
}
