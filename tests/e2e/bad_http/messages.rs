//! Tests bodies that are not a valid message for their endpoint.

use folkmoot_protocol::{
    ErrorCode::{self, *},
    limits::CONTROL_BYTES_MAX,
};

use super::{deployment, finish};

/// A name, the body of a check-in, and the expected error code.
fn bodies() -> Vec<(&'static str, Vec<u8>, ErrorCode)> {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("{{\"sdk_version\":\"1\",\"example_count\":1,\"attributes\":{open}{close}}}").into_bytes()
    };
    let objects = "{\"a\":".repeat(10_000).into_bytes();
    let of = |text: &str| text.as_bytes().to_vec();
    let attributes = |count: usize| {
        let pairs: Vec<String> = (0..count).map(|index| format!("\"a{index}\":\"b\"")).collect();
        format!("{{\"sdk_version\":\"1\",\"example_count\":1,\"attributes\":{{{}}}}}", pairs.join(","))
            .into_bytes()
    };
    let long = "a".repeat(129);
    let with_version =
        |text: &str| format!("{{\"sdk_version\":\"{text}\",\"example_count\":1}}").into_bytes();
    vec![
        ("nothing", of(""), MalformedRequest),
        ("no object", of("[]"), MalformedRequest),
        ("null", of("null"), MalformedRequest),
        ("no JSON", of("sdk_version=1"), MalformedRequest),
        ("cut off", of("{\"sdk_version\":\"1\",\"example_count\":"), MalformedRequest),
        ("more behind the end", of("{\"sdk_version\":\"1\",\"example_count\":1}{}"), MalformedRequest),
        ("a byte order mark", of("\u{feff}{\"sdk_version\":\"1\",\"example_count\":1}"), MalformedRequest),
        ("no UTF-8", b"{\"sdk_version\":\"\xff\",\"example_count\":1}".to_vec(), MalformedRequest),
        ("a lone surrogate", of("{\"sdk_version\":\"\\ud800\",\"example_count\":1}"), MalformedRequest),
        ("a missing field", of("{\"sdk_version\":\"1\"}"), MalformedRequest),
        (
            "an unknown field",
            of("{\"sdk_version\":\"1\",\"example_count\":1,\"role\":\"admin\"}"),
            MalformedRequest,
        ),
        (
            "a field twice",
            of("{\"sdk_version\":\"1\",\"example_count\":1,\"example_count\":2}"),
            MalformedRequest,
        ),
        ("a number as text", of("{\"sdk_version\":\"1\",\"example_count\":\"1\"}"), MalformedRequest),
        ("a negative number", of("{\"sdk_version\":\"1\",\"example_count\":-1}"), MalformedRequest),
        ("a fraction", of("{\"sdk_version\":\"1\",\"example_count\":1.5}"), MalformedRequest),
        ("10^300", of("{\"sdk_version\":\"1\",\"example_count\":1e300}"), MalformedRequest),
        ("2^64", of("{\"sdk_version\":\"1\",\"example_count\":18446744073709551616}"), MalformedRequest),
        ("NaN", of("{\"sdk_version\":\"1\",\"example_count\":NaN}"), MalformedRequest),
        ("above the limit", of("{\"sdk_version\":\"1\",\"example_count\":1000000000001}"), MalformedRequest),
        ("30,000 brackets", nested(30_000), MalformedRequest),
        ("10,000 objects", objects, MalformedRequest),
        ("33 attributes", attributes(33), MalformedRequest),
        ("a long version", with_version(&long), MalformedRequest),
        ("above 64 KiB", vec![b' '; CONTROL_BYTES_MAX + 1], PayloadTooLarge),
        ("2 MiB", vec![b'['; 2 << 20], PayloadTooLarge),
    ]
}

/// A name, the endpoint (`abort` or `report`), and the body.
const OTHER_BODIES: &[(&str, &str, &str)] = &[
    ("no reason", "abort", "{}"),
    ("an unknown reason", "abort", "{\"reason\":\"tired\"}"),
    ("a reason twice", "abort", "{\"reason\":\"stopped\",\"reason\":\"stopped\"}"),
    ("a number as reason", "abort", "{\"reason\":1}"),
    (
        "metrics as text",
        "report",
        "{\"training_milliseconds\":\"1\",\"download_bytes\":1,\"upload_bytes\":1}",
    ),
    ("a metric missing", "report", "{\"training_milliseconds\":1,\"download_bytes\":1}"),
    ("a negative metric", "report", "{\"training_milliseconds\":-1,\"download_bytes\":1,\"upload_bytes\":1}"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bad_message_has_its_code() {
    let (deployment, clients, members) = deployment().await;
    let client = &clients[0];
    for (name, body, expected) in bodies() {
        let answer = client.send(&client.post("/v1/check-in?wait_seconds=0", body)).await;
        assert_eq!(answer.code(), Some(expected), "{name}: {} {}", answer.status, answer.text());
    }
    for (name, endpoint, body) in OTHER_BODIES {
        let path = format!("/v1/assignments/{}/{endpoint}", members[0].id());
        let answer = client.send(&client.post(&path, *body)).await;
        assert_eq!(answer.code(), Some(MalformedRequest), "{name}: {}", answer.text());
    }
    let detail = serde_json::json!({ "reason": "stopped", "detail": "a".repeat(1025) });
    let path = format!("/v1/assignments/{}/abort", members[0].id());
    assert_eq!(client.send(&client.message(&path, &detail)).await.code(), Some(MalformedRequest));
    for query in [
        "wait_seconds=-1",
        "wait_seconds=a",
        "wait_seconds=4294967296",
        "wait=1",
        "wait_seconds=1&wait_seconds=2",
    ] {
        let check_in = client.check_in(0);
        let answer = client.send(&client.post(&format!("/v1/check-in?{query}"), check_in.body)).await;
        assert_eq!(answer.code(), Some(MalformedRequest), "{query}: {}", answer.text());
    }
    for (header, value) in [
        ("content-type", "text/plain"),
        ("content-type", "application/json5"),
        ("content-type", "multipart/form-data; boundary=a"),
        ("content-encoding", "gzip"),
        ("content-encoding", "zstd, gzip"),
    ] {
        let request = client.check_in(0).sign(&client.key).with(header, value);
        let answer = deployment.endpoint.send(&request).await;
        assert_eq!(answer.code(), Some(UnsupportedMediaType), "{header}: {value}");
    }
    let without_type = client.check_in(0).sign(&client.key).without("content-type");
    assert_eq!(deployment.endpoint.send(&without_type).await.code(), Some(UnsupportedMediaType));
    let with_body = client.get("/v1/check-in").sign(&client.key);
    assert_eq!(deployment.endpoint.send(&with_body).await.code(), Some(MethodNotAllowed));
    finish(&deployment, &members).await;
    deployment.assert_unharmed().await;
}
