//! Tests requests that never become complete.

use std::time::Duration;

use folkmoot_protocol::ErrorCode::{self, *};
use folkmoot_tests::{
    patience::patiently,
    raw::{Answer, Connection, Endpoint},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

use super::{deployment, finish};

/// Sends the head of a request and the first bytes of its body.
async fn begin(endpoint: &Endpoint, head: &[u8], body: &[u8]) -> Connection {
    let mut connection = endpoint.connect().await.expect("the coordinator listens");
    connection.write_all(head).await.expect("the coordinator reads");
    connection.write_all(body).await.expect("the coordinator reads");
    connection.flush().await.expect("the coordinator reads");
    connection
}

async fn answer_of(endpoint: &Endpoint, connection: &mut Connection) -> Answer {
    patiently("an answer", endpoint.read_answer(connection)).await.expect("what is slow is told so")
}

/// Waits until the coordinator closes the connection, with or without a response.
async fn await_end(connection: &mut Connection) {
    // An error also means that the connection has ended.
    let _ = patiently("the end of a connection", connection.read_to_end(&mut Vec::new())).await;
}

/// Sends the same byte slowly, for as long as the coordinator reads. Returns the error code of the response.
async fn trickle(mut connection: Connection, byte: &[u8]) -> Option<ErrorCode> {
    let (mut reader, mut writer) = tokio::io::split(connection.get_mut());
    let trickling = async {
        loop {
            sleep(Duration::from_millis(50)).await;
            if writer.write_all(byte).await.is_err() || writer.flush().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut text = Vec::new();
    let reading = async {
        let mut piece = [0; 1024];
        // The response to an aborted request fits into a single read.
        let count = reader.read(&mut piece).await.unwrap_or(0);
        text.extend_from_slice(&piece[..count]);
    };
    patiently("an end of the trickle", async {
        tokio::select! { () = trickling => {}, () = reading => {} }
    })
    .await;
    let text = String::from_utf8_lossy(&text).into_owned();
    ErrorCode::ALL.iter().copied().find(|code| text.contains(&format!("\"{code}\"")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_requests_end_by_themselves() {
    let (deployment, clients, members) = deployment().await;
    let (endpoint, client) = (&deployment.endpoint, &clients[0]);

    // Connections that send nothing, a part of a head, or nothing more after a complete request.
    let mut silent_tcp = TcpStream::connect(endpoint.address).await.expect("the coordinator listens");
    let mut part_of_head = begin(endpoint, b"GET /healthz HTTP/1.1\r\nhost: a\r\n", b"").await;
    let mut kept_alive = begin(endpoint, b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n", b"").await;
    assert_eq!(answer_of(endpoint, &mut kept_alive).await.status, 200);

    // Bodies that stop before they are complete.
    let check_in = client.check_in(0).sign(&client.key);
    let mut control = begin(endpoint, &check_in.head(check_in.body.len() as u64), &check_in.body[..5]).await;
    let chunked = client.check_in(0).sign(&client.key).with("transfer-encoding", "chunked");
    let mut chunks = begin(endpoint, &chunked.head(0), b"5\r\n{\"sdk\r\n").await;
    let update = members[0].update.bytes();
    let upload = client.upload(members[0].id(), &update).sign(&client.key);
    let mut stalled = begin(endpoint, &upload.head(update.len() as u64), &update[..200]).await;

    for connection in [&mut control, &mut chunks] {
        assert_eq!(answer_of(endpoint, connection).await.code(), Some(RequestTimeout));
    }
    let problem = answer_of(endpoint, &mut stalled).await.problem().expect("it is refused");
    assert_eq!((problem.code.known(), problem.received_bytes), (Some(RequestTimeout), Some(200)));
    for connection in [&mut part_of_head, &mut kept_alive] {
        await_end(connection).await;
    }
    let _ = patiently("the end of a silent socket", silent_tcp.read_to_end(&mut Vec::new())).await;

    // Heads and bodies that arrive slowly. Every byte arrives in time, but the whole message never does.
    let head = begin(endpoint, b"GET /healthz HTTP/1.1\r\nx: ", b"").await;
    let body = client.check_in(0).sign(&client.key);
    let body = begin(endpoint, &body.head(1000), b"").await;
    let (head, body) = tokio::join!(trickle(head, b"a"), trickle(body, b" "));
    assert_eq!((head, body), (None, Some(RequestTimeout)));

    // The coordinator must reject a chunked body without an end as soon as the body exceeds the size limit of a
    // message.
    let endless = client.check_in(0).sign(&client.key).with("transfer-encoding", "chunked");
    let mut connection = begin(endpoint, &endless.head(0), b"").await;
    let chunk = [b"1000\r\n".as_slice(), &[b' '; 4096], b"\r\n"].concat();
    for _ in 0..40 {
        let _ = connection.write_all(&chunk).await;
    }
    let _ = connection.flush().await;
    assert_eq!(answer_of(endpoint, &mut connection).await.code(), Some(PayloadTooLarge));

    members[0].upload_rest().await;
    finish(&deployment, &members).await;
    deployment.assert_answers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_never_says_which_http_it_speaks_ends() {
    let (deployment, _, members) = deployment().await;
    for said in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM"] {
        let mut silent = begin(&deployment.endpoint, said.as_bytes(), b"").await;
        await_end(&mut silent).await;
    }
    finish(&deployment, &members).await;
    deployment.assert_unharmed().await;
}
