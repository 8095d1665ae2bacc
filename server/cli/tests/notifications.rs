//! Tests of `folkmoot config test-notifications` with servers that record what arrives.

use std::fs;

use folkmoot_notification::recipient::Recipient;
use serde_json::{Value, json};

use crate::operator::program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_goes_through_every_channel_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let (web, mail) = (Recipient::web().await, Recipient::mail().await);
    let text = format!(
        r#"
[[notifications.webhooks]]
name = "chat"
format = "slack"
url = "http://127.0.0.1:{}/services/x"
events = ["task_paused"]

[[notifications.emails]]
name = "team"
server = "127.0.0.1"
port = {}
tls = "none"
from = "Folkmoot <fl@example.com>"
to = ["a@example.com"]
"#,
        web.port, mail.port
    );
    fs::write(folder.path().join("folkmoot.toml"), text).unwrap();
    let run = |arguments: &[&str]| {
        let output =
            program(folder.path()).args(["config", "test-notifications"]).args(arguments).output().unwrap();
        let [said, failed] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), said, failed)
    };
    let (code, said, failed) = run(&[]);
    assert_eq!((code, failed.as_str()), (Some(0), ""), "{said}");
    assert_eq!(said, "CHANNEL  KIND     RESULT\nchat     webhook  delivered\nteam     email    delivered\n");
    assert!(web.received()[0].body.contains("Notices arrive here"), "{:?}", web.received());
    assert!(
        mail.received()[0].body.contains("Subject: [Folkmoot] Notices arrive here"),
        "{:?}",
        mail.received()
    );

    web.answer([404]);
    let (code, said, failed) = run(&["--json"]);
    assert_eq!(code, Some(1), "{said}");
    let tested: Value = serde_json::from_str(&said).unwrap();
    assert!(tested[0]["error"].as_str().unwrap().contains("status 404"), "{tested}");
    assert_eq!(tested[1], json!({ "channel": "team", "kind": "email", "error": null }));
    assert!(failed.contains("1 of 2 channels did not deliver the notice"), "{failed}");

    let (code, _, failed) = run(&["--channel", "pager"]);
    assert_eq!(code, Some(1));
    assert!(
        failed.contains("no channel `pager`") && failed.contains("[[notifications.webhooks]]"),
        "{failed}"
    );
}
