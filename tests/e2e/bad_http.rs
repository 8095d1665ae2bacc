//! Tests requests that are invalid HTTP, or invalid messages for their endpoint.

mod messages;
mod slow;

use folkmoot_protocol::ErrorCode::{self, *};
use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    raw::{Endpoint, RawRequest},
    raw_client::RawClient,
    task::TaskSpec,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol, sent_by, verify},
};

/// Starts a coordinator with short time limits, and draws a cohort of two clients.
async fn deployment() -> (Deployment, Vec<RawClient>, Vec<Member>) {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let tune = |config: &mut folkmoot_tests::coordinator_process::CoordinatorConfig| {
        config.head_milliseconds = 2_000;
        config.control_milliseconds = 2_000;
        config.upload_idle_milliseconds = 2_000;
    };
    let deployment = Deployment::start(COORDINATOR, &spec, tune).await;
    let clients = enrol(&deployment, 2).await;
    let members = draw(&deployment, &clients).await;
    (deployment, clients, members)
}

/// Completes the round with valid updates.
async fn finish(deployment: &Deployment, members: &[Member]) {
    for member in members {
        assert_accepted(&member.upload().await);
    }
    await_version(deployment, 1).await;
    verify(deployment, &sent_by(members)).await;
}

/// A method, a path, and the expected error code.
const UNKNOWN: &[(&str, &str, ErrorCode)] = &[
    ("GET", "/v0", EndpointUnknown),
    ("POST", "/", MethodNotAllowed),
    ("GET", "/v1", EndpointUnknown),
    ("GET", "/v2/enrol", EndpointUnknown),
    ("GET", "/v1/enrol/", EndpointUnknown),
    ("POST", "/V1/enrol", EndpointUnknown),
    ("GET", "/v1//enrol", EndpointUnknown),
    ("GET", "/v1/blobs/", EndpointUnknown),
    ("GET", "/v1/blobs/a/b", EndpointUnknown),
    ("GET", "/v1/blobs/../../folkmoot.db", EndpointUnknown),
    ("GET", "/../folkmoot.db", EndpointUnknown),
    ("GET", "/server.key", EndpointUnknown),
    ("GET", "/%00", EndpointUnknown),
    ("GET", "/v1/enrol", MethodNotAllowed),
    ("GET", "/v1/check-in", MethodNotAllowed),
    ("DELETE", "/v1/blobs/a", MethodNotAllowed),
    ("POST", "/v1/assignments/a/update", MethodNotAllowed),
    ("PATCH", "/v1/assignments/a/update", MethodNotAllowed),
    ("BREW", "/v1/enrol", MethodNotAllowed),
    ("TRACE", "/healthz", MethodNotAllowed),
];

/// Invalid names of blobs, and names of blobs that do not exist. Some are paths of files outside the blob store.
const BLOB_NAMES: &[&str] = &[
    "0000000000000000000000000000000000000000000000000000000000000000",
    "..",
    "%2e%2e",
    "..%2f..%2ffolkmoot.db",
    "%2e%2e%2f%2e%2e%2fserver.key",
    "..%5c..%5cserver.key",
    "%2fetc%2fpasswd",
    "%00",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "%c3%a4",
];

/// A range header for a blob of 332 bytes, and the first byte and the length of the response; `None` if the range is
/// refused.
const RANGES: &[(&str, Option<(usize, usize)>)] = &[
    ("bytes=0-", Some((0, 332))),
    ("bytes=0-0", Some((0, 1))),
    ("bytes=331-", Some((331, 1))),
    ("bytes=330-18446744073709551614", Some((330, 2))),
    ("bytes=-2", Some((330, 2))),
    ("bytes=-332", Some((0, 332))),
    ("bytes=332-", None),
    ("bytes=5-4", None),
    ("bytes=-0", None),
    ("bytes=-333", None),
    ("bytes=0-18446744073709551615", None),
    ("bytes=18446744073709551616-", None),
    ("bytes=0-1,3-4", None),
    ("bytes=0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0", None),
    ("bytes=--1", None),
    ("bytes=", None),
    ("bytes=a-b", None),
    ("bytes= 0-1", None),
    ("lines=0-1", None),
    ("0-1", None),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_places_and_odd_ranges_have_their_codes() {
    let (deployment, clients, members) = deployment().await;
    for (method, path, expected) in UNKNOWN {
        let answer = deployment.endpoint.send(&RawRequest::new(method, path)).await;
        assert_eq!(answer.code(), Some(*expected), "{method} {path}: {} {}", answer.status, answer.text());
    }
    for name in BLOB_NAMES {
        let answer = clients[0].send(&clients[0].get(&format!("/v1/blobs/{name}"))).await;
        assert_eq!(answer.code(), Some(BlobUnknown), "{name}: {} {}", answer.status, answer.text());
    }
    let weights = members[0].assignment.weights;
    let whole = clients[0].send(&clients[0].get(&format!("/v1/blobs/{}", weights.digest))).await;
    assert_eq!((whole.status, whole.body.len()), (200, 332), "the ranges below are of this length");
    for (range, expected) in RANGES {
        let request = clients[0].get(&format!("/v1/blobs/{}", weights.digest)).sign(&clients[0].key);
        let answer = deployment.endpoint.send(&request.with("range", range)).await;
        match expected {
            Some((start, count)) => {
                assert_eq!(answer.status, 206, "{range}");
                assert_eq!(answer.body, whole.body[*start..start + count], "{range}");
            }
            None => assert_eq!(answer.code(), Some(RangeNotSatisfiable), "{range}: {}", answer.status),
        }
    }
    // A client without an assignment must not be able to read a blob.
    let stranger = RawClient::enrolled(&deployment.endpoint, &deployment.task.token).await;
    let answer = stranger.send(&stranger.get(&format!("/v1/blobs/{}", weights.digest))).await;
    assert_eq!(answer.code(), Some(BlobUnknown));
    finish(&deployment, &members).await;
    deployment.assert_unharmed().await;
}

/// A name, the bytes to send, and the allowed status codes. The coordinator may also close the connection without a
/// response.
const MALFORMED: &[(&str, &str, &[u16])] = &[
    (
        "two lengths",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        &[400],
    ),
    ("a negative length", "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", &[400]),
    ("a signed length", "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-length: +2\r\n\r\n{}", &[400]),
    (
        "a length of 2^70",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-length: 1180591620717411303424\r\n\r\n",
        &[400],
    ),
    (
        "length and chunks",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        &[400, 415],
    ),
    (
        "unknown encoding",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        &[400, 501],
    ),
    (
        "a bad chunk",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        &[400],
    ),
    (
        "a chunk of 2^64",
        "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n10000000000000000\r\n",
        &[400],
    ),
    ("no version", "GET /healthz\r\n\r\n", &[400]),
    ("a version of the future", "GET /healthz HTTP/9.9\r\n\r\n", &[400, 505]),
    ("no target", "GET  HTTP/1.1\r\n\r\n", &[400]),
    ("a header without a name", "GET /healthz HTTP/1.1\r\n: a\r\n\r\n", &[400]),
    ("a space in a name", "GET /healthz HTTP/1.1\r\nhost : a\r\n\r\n", &[400]),
    ("a folded header", "GET /healthz HTTP/1.1\r\nhost: a\r\n b\r\n\r\n", &[400]),
    ("a NUL", "GET /healthz HTTP/1.1\r\nhost: \0\r\n\r\n", &[400]),
    ("binary", "\u{1}\u{2}\u{3}\u{4}\r\n\r\n", &[400]),
    ("TLS within TLS", "\u{16}\u{3}\u{1}\0\u{5}hello\r\n\r\n", &[400]),
];

/// Sends bytes and returns the status code of the response; `None` if the connection was closed without one.
async fn status_of(endpoint: &Endpoint, bytes: &[u8]) -> Option<u16> {
    let mut connection = endpoint.connect().await.expect("the coordinator listens");
    let _ = connection.write_all(bytes).await;
    let _ = connection.flush().await;
    let answer = patiently("an answer or an end", endpoint.read_answer(&mut connection)).await;
    answer.ok().map(|answer| answer.status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_http_is_refused_or_closed() {
    let (deployment, _, members) = deployment().await;
    for (name, text, statuses) in MALFORMED {
        let status = status_of(&deployment.endpoint, text.as_bytes()).await;
        assert!(status.is_none_or(|status| statuses.contains(&status)), "{name}: {status:?}");
    }
    let long = "a".repeat(1 << 20);
    let many = "a: b\r\n".repeat(200);
    for (name, head) in [
        ("a header of 1 MiB", format!("GET /healthz HTTP/1.1\r\nx: {long}\r\n\r\n")),
        ("a path of 1 MiB", format!("GET /{long} HTTP/1.1\r\n\r\n")),
        ("200 headers", format!("GET /healthz HTTP/1.1\r\n{many}\r\n")),
    ] {
        let status = status_of(&deployment.endpoint, head.as_bytes()).await;
        assert!(matches!(status, None | Some(400 | 414 | 431)), "{name}: {status:?}");
    }
    let old = deployment.endpoint.connect_with(&rustls::version::TLS12, b"http/1.1").await;
    assert!(old.is_err(), "TLS 1.2 is not spoken");
    let mut plain = TcpStream::connect(deployment.endpoint.address).await.expect("the coordinator listens");
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("the socket is open");
    let mut answer = Vec::new();
    let _ = patiently("an end", plain.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP"), "without TLS nothing is answered");
    finish(&deployment, &members).await;
    deployment.assert_answers().await;
}
