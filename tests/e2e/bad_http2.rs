//! Tests attacks over HTTP/2, frame by frame.

use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    raw::{Connection, Endpoint},
    task::TaskSpec,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinSet,
};

use crate::{
    COORDINATOR,
    cohort::{assert_accepted, await_version, draw, enrol, sent_by, verify},
};

/// Frame types and flags of RFC 9113.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [length.as_slice(), &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns `GET /healthz` in HPACK: indexed method and scheme, literal path and authority (RFC 7541, section 6).
fn healthz_block() -> Vec<u8> {
    [&[0x82, 0x87, 0x04, 8], b"/healthz".as_slice(), &[0x01, 1], b"a"].concat()
}

/// Connects and sends the HTTP/2 preface.
async fn connect(endpoint: &Endpoint) -> Connection {
    let connection = endpoint.connect_with(&rustls::version::TLS13, b"h2").await;
    let mut connection = connection.expect("the coordinator speaks HTTP/2");
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &frame(SETTINGS, 0, 0, b"")].concat();
    connection.write_all(&preface).await.expect("the coordinator reads");
    connection
}

/// Sends the pieces and at the same time reads the responses, until there are no more pieces or the connection ends.
/// Returns the error code of the GOAWAY frame, if there was one, and whether the coordinator ended the connection.
async fn flood(mut connection: Connection, pieces: impl Iterator<Item = Vec<u8>>) -> (Option<u32>, bool) {
    let (mut reader, mut writer) = tokio::io::split(connection.get_mut());
    let writing = async {
        for piece in pieces {
            if writer.write_all(&piece).await.is_err() || writer.flush().await.is_err() {
                return;
            }
        }
    };
    let reading = async {
        let mut bytes = Vec::new();
        let _ = reader.read_to_end(&mut bytes).await;
        goaway_reason(&bytes)
    };
    let both = async { tokio::join!(writing, reading).1 };
    match tokio::time::timeout(std::time::Duration::from_secs(30), both).await {
        Ok(reason) => (reason, true),
        Err(_) => (None, false),
    }
}

fn goaway_reason(mut bytes: &[u8]) -> Option<u32> {
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if rest.len() < length {
            return None;
        }
        if head[3] == GOAWAY {
            return Some(u32::from_be_bytes(rest.get(4..8)?.try_into().expect("four bytes")));
        }
        bytes = &rest[length..];
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_end_the_connection_and_nobody_else_is_harmed() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], 2, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let members = draw(&deployment, &enrol(&deployment, 2).await).await;

    // Rapid reset (CVE-2023-44487): streams that the client cancels before the server handles them.
    let cancel = 8u32.to_be_bytes();
    let resets = (0..50_000u32).map(|index| index * 2 + 1).map(|stream| {
        let open = frame(HEADERS, END_STREAM | END_HEADERS, stream, &healthz_block());
        [open, frame(RST_STREAM, 0, stream, &cancel)].concat()
    });
    let resets: Vec<u8> = resets.flatten().collect();
    let pieces = resets.chunks(16_000).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (_, has_ended) = flood(connect(&deployment.endpoint).await, pieces.into_iter()).await;
    assert!(has_ended, "the coordinator did not stop a flood of resets");

    // CONTINUATION flood (CVE-2024-27316): a request head without an end.
    let field = [&[0, 1, b'x', 100], [b'a'; 100].as_slice()].concat();
    let begin = frame(HEADERS, END_STREAM, 1, &healthz_block());
    let endless = std::iter::repeat_n(frame(CONTINUATION, 0, 1, &field.repeat(100)), 20_000);
    let pieces = std::iter::once(begin).chain(endless);
    let (_, has_ended) = flood(connect(&deployment.endpoint).await, pieces).await;
    assert!(has_ended, "the coordinator read a head of 200 MB to its end");

    // Invalid frames.
    for (name, bytes) in [
        ("a frame above the limit", frame(PING, 0, 0, &vec![0; 20_000])),
        ("a stream of the server", frame(HEADERS, END_STREAM | END_HEADERS, 2, &healthz_block())),
        ("CONTINUATION from nowhere", frame(CONTINUATION, END_HEADERS, 1, b"")),
        ("headers that are no HPACK", frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0xff; 50])),
        ("settings of 5 bytes", frame(SETTINGS, 0, 0, &[0; 5])),
        ("HTTP/1.1", b"GET /healthz HTTP/1.1\r\n\r\n".to_vec()),
    ] {
        let (_, has_ended) = flood(connect(&deployment.endpoint).await, std::iter::once(bytes)).await;
        assert!(has_ended, "{name}");
    }
    cancel_often(&deployment.endpoint).await;

    for member in &members {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;
    verify(&deployment, &sent_by(&members)).await;
    deployment.assert_answers().await;
}

/// Opens many connections at the same time and drops them at every stage.
async fn cancel_often(endpoint: &Endpoint) {
    let mut cancelling = JoinSet::new();
    for index in 0..120 {
        let endpoint = endpoint.clone();
        cancelling.spawn(async move {
            let Ok(mut connection) = endpoint.connect().await else { return };
            let request = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
            let _ = connection.write_all(&request[..index * request.len() / 120]).await;
            let _ = connection.flush().await;
        });
    }
    patiently("the end of all connections", cancelling.join_all()).await;
}
