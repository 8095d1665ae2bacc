//! HTTP/1.1 over TLS with full control: a test determines every byte of a request.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_protocol::{ErrorCode, Problem};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::patience::patiently;

/// A TLS connection that a test controls.
pub type Connection = BufReader<TlsStream<TcpStream>>;

/// A coordinator's address, with counts of the refusals that the coordinator has returned. Clones share the counts.
#[derive(Clone)]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    roots: Arc<RootCertStore>,
    connector: TlsConnector,
    refusals: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Endpoint {
    /// Creates the endpoint of a port on loopback. `certificate` is the trusted root certificate in PEM.
    ///
    /// # Panics
    /// If the certificate is invalid.
    pub fn new(port: u16, certificate: &[u8]) -> Self {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(certificate).expect("the coordinator wrote a certificate");
        roots.add(root).expect("the coordinator's root can be trusted");
        let roots = Arc::new(roots);
        let connector = connector(&roots, &rustls::version::TLS13, b"http/1.1");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Self { address, roots, connector, refusals: Arc::default() }
    }

    /// Connects with TLS for HTTP/1.1.
    ///
    /// # Errors
    /// If no process listens, or the handshake fails.
    pub async fn connect(&self) -> io::Result<Connection> {
        self.connect_by(&self.connector).await
    }

    /// Connects with another version of TLS or another protocol.
    ///
    /// # Errors
    /// If no process listens, or the handshake fails.
    pub async fn connect_with(
        &self,
        version: &'static SupportedProtocolVersion,
        protocol: &[u8],
    ) -> io::Result<Connection> {
        self.connect_by(&connector(&self.roots, version, protocol)).await
    }

    async fn connect_by(&self, connector: &TlsConnector) -> io::Result<Connection> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(self.address.ip().into());
        Ok(BufReader::new(connector.connect(name, stream).await?))
    }

    /// Sends a request on a new connection and returns the response.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn send(&self, request: &RawRequest) -> Answer {
        let what = format!("an answer to {} {:.80}", request.method, request.path);
        let answer = patiently(&what, self.try_send(request)).await;
        answer.unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Sends a request on a new connection and returns the response.
    ///
    /// # Errors
    /// If the connection fails or is closed without a response.
    pub async fn try_send(&self, request: &RawRequest) -> io::Result<Answer> {
        let mut connection = self.connect().await?;
        connection.write_all(&request.head(request.body.len() as u64)).await?;
        // The coordinator may reject the body before it has read the whole body. Even then, it sends a response.
        if connection.write_all(&request.body).await.is_ok() {
            let _ = connection.flush().await;
        }
        self.read_answer(&mut connection).await
    }

    /// Reads one response.
    ///
    /// # Errors
    /// If the connection ends before the response is complete.
    pub async fn read_answer(&self, connection: &mut Connection) -> io::Result<Answer> {
        let answer = read_answer(connection).await?;
        if let Some(code) = answer.code() {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            *refusals.entry(code.to_string()).or_default() += 1;
        }
        Ok(answer)
    }

    /// Returns the number of refusals for each error code.
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn connector(
    roots: &Arc<RootCertStore>,
    version: &'static SupportedProtocolVersion,
    protocol: &[u8],
) -> TlsConnector {
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("ring's provider knows the versions")
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// An HTTP request whose parts are set by the test. The parts may be invalid.
#[derive(Clone, Debug)]
pub struct RawRequest {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers. `Host` and `Content-Length` are added if they are missing.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RawRequest {
    /// Creates a request without headers and body.
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Sets a header. Earlier values are removed.
    #[must_use]
    pub fn with(self, name: &str, value: impl ToString) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header. Earlier values are kept.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.into(), value.to_string()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Returns the bytes of the request's head, for a body of `content_length` bytes.
    pub fn head(&self, content_length: u64) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let mut line = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        if !has("host") {
            line("host", "localhost");
        }
        if !has("content-length") && !has("transfer-encoding") {
            line("content-length", &content_length.to_string());
        }
        self.headers.iter().for_each(|(name, value)| line(name, value));
        head.push_str("\r\n");
        head.into_bytes()
    }
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the problem document; `None` if the body is something else.
    pub fn problem(&self) -> Option<Problem> {
        let is_problem =
            self.headers.get("content-type").is_some_and(|kind| kind == "application/problem+json");
        is_problem.then(|| serde_json::from_slice(&self.body).expect("a problem document can be read"))
    }

    /// Returns the error code of a refusal; `None` for any other response.
    pub fn code(&self) -> Option<ErrorCode> {
        self.problem().and_then(|problem| problem.code.known())
    }

    /// Parses the body as a JSON message.
    ///
    /// # Panics
    /// If the body is not a JSON message of this type, or the response reports a failure.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

async fn read_answer(connection: &mut Connection) -> io::Result<Answer> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_owned()),
        }
    }
    let status = lines.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status line: {lines:?}")))?;
    let pairs = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
    let headers: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    let length = headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).await?;
    assert!(!headers.contains_key("transfer-encoding"), "the coordinator's answers have a length");
    Ok(Answer { status, headers, body })
}
