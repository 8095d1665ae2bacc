//! Recipients of notices for tests, on this machine: a web server and a mail server that record what arrives.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// A server that takes notices.
pub struct Recipient {
    /// The port on 127.0.0.1.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<Received>>,
    /// The answers to the next requests; then success.
    answers: Mutex<VecDeque<u16>>,
    arrived: Notify,
}

/// A request, or a mail with its envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The headers of a request with lower-case names, or the commands before a mail's text.
    pub head: Vec<String>,
    /// The body of a request, or the text of a mail with its headers.
    pub body: String,
}

impl Received {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Recipient {
    /// Starts a web server.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn web() -> Self {
        Self::start(false).await
    }

    /// Starts a mail server (RFC 5321) without encryption.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn mail() -> Self {
        Self::start(true).await
    }

    async fn start(is_mail: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared::default());
        let accepting = shared.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let shared = accepting.clone();
                tokio::spawn(async move {
                    // A client that disconnects ends only its own connection.
                    let _ = if is_mail { mail(socket, &shared).await } else { web(socket, &shared).await };
                });
            }
        });
        Self { port, shared }
    }

    /// Answers the next requests, or the next mails, with these status codes.
    pub fn answer(&self, codes: impl IntoIterator<Item = u16>) {
        self.shared.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(codes);
    }

    /// Returns what has arrived.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `count` requests or mails have arrived, and returns them.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        loop {
            let arrived = self.shared.arrived.notified();
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            arrived.await;
        }
    }
}

impl Shared {
    fn take(&self, received: Received) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
        self.arrived.notify_waiters();
    }

    fn code(&self, otherwise: u16) -> u16 {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(otherwise)
    }
}

async fn line(reader: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    match reader.read_line(&mut line).await? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

async fn web(socket: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    loop {
        let mut received = Received { head: vec![line(&mut reader).await?], body: String::new() };
        loop {
            let header = line(&mut reader).await?;
            let Some((name, value)) = header.split_once(':') else { break };
            received.head.push(format!("{}: {}", name.to_lowercase(), value.trim()));
        }
        let length = received.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await?;
        received.body = String::from_utf8_lossy(&body).into_owned();
        let code = shared.code(204);
        shared.take(received);
        let answer = format!("HTTP/1.1 {code} Recorded\r\ncontent-length: 0\r\n\r\n");
        reader.write_all(answer.as_bytes()).await?;
    }
}

async fn mail(socket: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    reader.write_all(b"220 localhost\r\n").await?;
    let mut received = Received::default();
    loop {
        let command = line(&mut reader).await?;
        let word = command.split(' ').next().unwrap_or_default().to_uppercase();
        received.head.push(command);
        let answer = match word.as_str() {
            "EHLO" => "250-localhost\r\n250 AUTH PLAIN\r\n".to_owned(),
            "AUTH" => "235 welcome\r\n".into(),
            "DATA" => {
                reader.write_all(b"354 go on\r\n").await?;
                loop {
                    match line(&mut reader).await?.as_str() {
                        "." => break,
                        text => received.body.push_str(&format!("{text}\n")),
                    }
                }
                let code = shared.code(250);
                shared.take(std::mem::take(&mut received));
                format!("{code} recorded\r\n")
            }
            "QUIT" => {
                reader.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => "250 ok\r\n".into(),
        };
        reader.write_all(answer.as_bytes()).await?;
    }
}
