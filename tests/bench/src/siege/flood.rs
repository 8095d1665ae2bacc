//! Floods, each in a separate process.

use std::{
    io::{self, BufRead},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ed25519_dalek::SigningKey;
use folkmoot_load::update::offer;
use folkmoot_protocol::{
    ClientId, PROTOCOL_VERSION, UpdateDigest, headers,
    messages::EnrolRequest,
    signing::{self, SignedParts},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    sync::Semaphore,
    task::JoinSet,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{Failure, tenant};

/// The maximum number of handshakes at the same time.
const HANDSHAKES: usize = 64;
/// The size of an unauthenticated body, in bytes.
const BODY_BYTES: usize = 7 << 20;
/// The number of connections that try wrong tokens, each from a different address.
const GUESSERS: usize = 100;

/// The kind of flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// No connection: one thread for each core computes, which shows the effect of a process beside the coordinator
    Busy,
    /// 5,000 HTTP/2 connections that only answer pings
    Idle,
    /// 1,000 unauthenticated requests with bodies of seven megabytes
    Bodies,
    /// 100,000 enrolments with wrong tokens, from a hundred addresses
    Enrolments,
    /// 200 connections that send requests and do not read the responses
    Unread,
    /// 1,000 enrolled clients of another organisation on one address, which together send ten times what its quota
    /// permits
    Tenant,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Busy, Self::Idle, Self::Bodies, Self::Enrolments, Self::Unread, Self::Tenant];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Bodies => "bodies",
            Self::Enrolments => "enrolments",
            Self::Unread => "unread",
            Self::Tenant => "tenant",
        }
    }
}

/// Settings of a flood. It runs until standard input is closed.
#[derive(clap::Args)]
pub struct Arguments {
    kind: Kind,
    url: String,
    root_certificate: PathBuf,
}

/// The counts at the end of a flood.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The maximum number of open connections.
    pub connections: usize,
    /// The number of requests sent.
    pub requests: usize,
}

/// Runs the flood until standard input is closed, and then prints its counts.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    folkmoot_edge::raise_open_files(usize::MAX);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let mut target = Target::new(arguments)?;
        let mut tasks = JoinSet::new();
        let (alpn, count): (&[u8], usize) = match arguments.kind {
            Kind::Busy => {
                compute_on_all_cores();
                (b"", 0)
            }
            Kind::Idle => (b"h2", 5_000),
            Kind::Bodies => (b"http/1.1", 1_000),
            Kind::Enrolments => (b"http/1.1", GUESSERS),
            Kind::Unread => (b"http/1.1", 200),
            Kind::Tenant => (b"http/1.1", tenant::CLIENTS),
        };
        target.config.alpn_protocols = vec![alpn.to_vec()];
        let target = Arc::new(target);
        for index in 0..count {
            let (target, kind) = (target.clone(), arguments.kind);
            tasks.spawn(async move {
                // The coordinator is expected to refuse these requests, so ignore errors.
                let _ = match kind {
                    Kind::Busy => Ok(()),
                    Kind::Idle => target.idle().await,
                    Kind::Bodies => target.body().await,
                    Kind::Enrolments => target.guess(index).await,
                    Kind::Unread => target.unread().await,
                    Kind::Tenant => target.check_in_often(index).await,
                };
            });
        }
        tokio::task::spawn_blocking(|| io::stdin().lock().lines().count()).await?;
        Ok::<_, Failure>(Outcome {
            connections: target.open_max.load(Ordering::Relaxed),
            requests: target.requests.load(Ordering::Relaxed),
        })
    })?;
    runtime.shutdown_background();
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

/// Keeps all cores busy until the process ends.
fn compute_on_all_cores() {
    for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        std::thread::spawn(|| {
            for number in 0_u64.. {
                std::hint::black_box(number);
            }
        });
    }
}

struct Target {
    address: SocketAddr,
    config: ClientConfig,
    handshakes: Semaphore,
    open: AtomicUsize,
    open_max: AtomicUsize,
    requests: AtomicUsize,
}

type Stream = TlsStream<tokio::net::TcpStream>;

impl Target {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let authority = arguments
            .url
            .strip_prefix("https://")
            .ok_or("the coordinator's URL does not begin with https://")?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&arguments.root_certificate)?)?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            address: authority.parse()?,
            config,
            handshakes: Semaphore::new(HANDSHAKES),
            open: AtomicUsize::new(0),
            open_max: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
        })
    }

    /// Connects to the coordinator. `from` must be an address that no honest client uses.
    async fn connect(&self, from: Ipv4Addr) -> Result<Stream, Failure> {
        let _turn = self.handshakes.acquire().await?;
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let stream = socket.connect(self.address).await?;
        let name = ServerName::IpAddress(self.address.ip().into());
        let stream = TlsConnector::from(Arc::new(self.config.clone())).connect(name, stream).await?;
        self.open_max.fetch_max(self.open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(stream)
    }

    fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Keeps a connection open on which it only answers pings.
    async fn idle(&self) -> Result<(), Failure> {
        let mut stream = self.connect(ATTACKER).await?;
        let outcome = answer_pings(&mut stream).await;
        self.closed();
        outcome
    }

    /// Sends most of a body and then waits.
    async fn body(&self) -> Result<(), Failure> {
        loop {
            let mut stream = self.connect(ATTACKER).await?;
            self.requests.fetch_add(1, Ordering::Relaxed);
            let head = format!(
                "POST /v1/enrol HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                BODY_BYTES + 1
            );
            let piece = vec![b' '; 64 << 10];
            let _ = async {
                stream.write_all(head.as_bytes()).await?;
                for _ in 0..BODY_BYTES / piece.len() {
                    stream.write_all(&piece).await?;
                }
                stream.flush().await?;
                stream.read_u8().await
            }
            .await;
            self.closed();
        }
    }

    /// Tries wrong tokens one after the other.
    async fn guess(&self, index: usize) -> Result<(), Failure> {
        let [.., high, low] = (index as u32 + 1).to_be_bytes();
        let from = Ipv4Addr::new(127, 1, high, low);
        for number in 0_u64.. {
            let mut stream = self.connect(from).await?;
            for attempt in 0..50_u64 {
                let request = enrolment(index as u64, number * 50 + attempt);
                self.requests.fetch_add(1, Ordering::Relaxed);
                stream.write_all(&request).await?;
                if read_answer(&mut stream).await.is_err() {
                    break;
                }
            }
            self.closed();
        }
        Ok(())
    }

    /// Checks in once a second as a client of another organisation, on one connection.
    async fn check_in_often(&self, index: usize) -> Result<(), Failure> {
        let mut stream = self.connect(Ipv4Addr::LOCALHOST).await?;
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        for number in 0_u64.. {
            seconds.tick().await;
            stream.write_all(&check_in(index, number)).await?;
            self.requests.fetch_add(1, Ordering::Relaxed);
            read_answer(&mut stream).await?;
        }
        Ok(())
    }

    /// Repeatedly requests the longest response that needs no key, without reading the responses.
    async fn unread(&self) -> Result<(), Failure> {
        loop {
            let mut stream = self.connect(ATTACKER).await?;
            let asked = async {
                loop {
                    self.requests.fetch_add(1, Ordering::Relaxed);
                    stream.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n").await?;
                    stream.flush().await?;
                }
            };
            let ended: Result<(), io::Error> = asked.await;
            self.closed();
            ended?;
        }
    }
}

/// The source address of floods.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn answer_pings(stream: &mut Stream) -> Result<(), Failure> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: u8 = 6;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    stream.write_all(&SETTINGS).await?;
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await?;
        if head[3] == PING && head[4] == 0 {
            head[4] = 1;
            stream.write_all(&[&head[..], &payload].concat()).await?;
            stream.flush().await?;
        }
    }
}

/// Returns an enrolment with a valid signature and an invalid token.
fn enrolment(who: u64, number: u64) -> Vec<u8> {
    let mut secret = [7; 32];
    secret[..8].copy_from_slice(&who.to_le_bytes());
    let key = SigningKey::from_bytes(&secret);
    let token = format!("{who:016x}.{number:064x}");
    let message = EnrolRequest { token, public_key: signing::encode_public_key(&key) };
    let body = serde_json::to_vec(&message).expect("a message is plain data");
    let nonce = format!("{who:016x}{number:016x}");
    signed(&key, None, "/v1/enrol", &nonce, &body)
}

/// Returns check-in number `number` of a client of another organisation.
fn check_in(index: usize, number: u64) -> Vec<u8> {
    let body = serde_json::to_vec(&offer()).expect("a message is plain data");
    let nonce = format!("{index:016x}{number:016x}");
    signed(&tenant::key(index), Some(tenant::client(index)), "/v1/check-in?wait_seconds=0", &nonce, &body)
}

/// Returns a signed request with a JSON body.
fn signed(key: &SigningKey, client: Option<ClientId>, path: &str, nonce: &str, body: &[u8]) -> Vec<u8> {
    let parts = SignedParts {
        method: "POST",
        path,
        client,
        protocol: PROTOCOL_VERSION,
        timestamp: folkmoot_rounds::clock::system_clock()(),
        nonce,
        content: UpdateDigest::of(body),
        upload: None,
        audience: Some("localhost"),
    };
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    if let Some(client) = client {
        request.push_str(&format!("{}: {client}\r\n", headers::CLIENT));
    }
    for (name, value) in [
        (headers::PROTOCOL, PROTOCOL_VERSION.to_string()),
        (headers::AUDIENCE, "localhost".to_owned()),
        (headers::TIMESTAMP, parts.timestamp.0.to_string()),
        (headers::NONCE, nonce.to_owned()),
        (headers::CONTENT_DIGEST, parts.content.to_string()),
        (headers::SIGNATURE, signing::sign(key, &parts)),
    ] {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    [request.as_bytes(), b"\r\n", body].concat()
}

/// Reads one response with a `content-length`.
async fn read_answer(stream: &mut Stream) -> Result<(), Failure> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&head).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .ok_or("the response has no content-length")?;
    let mut body = vec![0; length.trim().parse()?];
    stream.read_exact(&mut body).await?;
    Ok(())
}
