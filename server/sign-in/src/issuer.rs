//! An identity provider for tests, on this machine. A test sets its answers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use folkmoot_protocol::Timestamp;
use openidconnect::{
    JsonWebKeyId, PrivateSigningKey,
    core::{CoreEdDsaPrivateSigningKey, CoreHmacKey, CoreJwsSigningAlgorithm},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The client's id at the issuer.
pub const CLIENT: &str = "folkmoot";
/// The client's secret at the issuer.
pub const SECRET: &str = "a secret of the client";

/// An identity provider on this machine.
pub struct Issuer {
    /// The issuer's URL.
    pub url: String,
    answers: Arc<Mutex<Answers>>,
}

struct Answers {
    keys: String,
    token: String,
    refresh_token: Option<String>,
    requests: Vec<(String, String)>,
    /// The status and text of the paths that a test has changed.
    changed: BTreeMap<String, (u16, String)>,
}

/// A key of the issuer.
pub struct Key(CoreEdDsaPrivateSigningKey, String);

impl Key {
    /// Creates the key of a seed.
    ///
    /// # Panics
    /// Never: every seed is a valid key.
    pub fn new(seed: u8) -> Self {
        // PKCS #8 of an Ed25519 key (RFC 8410).
        let prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        let der = [prefix.as_slice(), &[seed; 32]].concat();
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        let id = format!("key-{seed}");
        let key = CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(JsonWebKeyId::new(id.clone())));
        Self(key.expect("every seed is a key"), id)
    }

    /// Returns the public key as a JSON Web Key.
    ///
    /// # Panics
    /// Never: a key always serialises.
    pub fn public(&self) -> Value {
        serde_json::to_value(self.0.as_verification_key()).expect("a key serialises")
    }

    /// Signs claims.
    ///
    /// # Panics
    /// Never: the algorithm fits the key.
    pub fn token(&self, claims: &Value) -> String {
        let message = message(&json!({ "alg": "EdDSA", "kid": self.1 }), claims);
        let signature =
            self.0.sign(&CoreJwsSigningAlgorithm::EdDsa, message.as_bytes()).expect("the key fits");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Returns a token with HMAC-SHA-256.
///
/// # Panics
/// Never: any secret fits the algorithm.
pub fn hmac_token(secret: &[u8], claims: &Value) -> String {
    let message = message(&json!({ "alg": "HS256" }), claims);
    let key = CoreHmacKey::new(secret.to_vec());
    let signature =
        key.sign(&CoreJwsSigningAlgorithm::HmacSha256, message.as_bytes()).expect("any secret fits");
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Returns a token with `alg: none`.
pub fn unsigned_token(claims: &Value) -> String {
    format!("{}.", message(&json!({ "alg": "none" }), claims))
}

fn message(header: &Value, claims: &Value) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    format!("{header}.{claims}")
}

impl Issuer {
    /// Starts an issuer with the key 1. It has no token yet.
    ///
    /// # Panics
    /// If this machine has no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let answers = Answers {
            keys: String::new(),
            token: String::new(),
            refresh_token: None,
            requests: Vec::new(),
            changed: BTreeMap::new(),
        };
        let issuer = Self { url: url.clone(), answers: Arc::new(Mutex::new(answers)) };
        issuer.set_keys(&[&Key::new(1)]);
        let answers = issuer.answers.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, url.clone(), answers.clone()));
            }
        });
        issuer
    }

    /// Returns the claims of a valid token for Ada, who is in the groups `staff` and `builders`.
    pub fn claims(&self, nonce: &str, now: Timestamp) -> Value {
        json!({
            "iss": self.url,
            "aud": CLIENT,
            "sub": "ada",
            "exp": now.0 / 1000 + 600,
            "iat": now.0 / 1000,
            "nonce": nonce,
            "name": "Ada Lovelace",
            "groups": ["staff", "builders", "choir"],
        })
    }

    /// Sets the public keys.
    pub fn set_keys(&self, keys: &[&Key]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        self.set_key_document(json!({ "keys": keys }).to_string());
    }

    /// Sets the whole text of the document with the keys.
    pub fn set_key_document(&self, text: String) {
        self.answers().keys = text;
    }

    /// Sets the ID token that every code is exchanged for.
    pub fn set_token(&self, token: String) {
        self.answers().token = token;
    }

    /// Sets the refresh token that comes with the ID token; by default there is none.
    pub fn set_refresh_token(&self, token: Option<&str>) {
        self.answers().refresh_token = token.map(str::to_owned);
    }

    /// Sets the status and the text of all answers for a path. Without a text, it answers as before.
    pub fn change(&self, path: &str, answer: Option<(u16, String)>) {
        let mut answers = self.answers();
        match answer {
            Some(answer) => drop(answers.changed.insert(path.to_owned(), answer)),
            None => drop(answers.changed.remove(path)),
        }
    }

    /// Lets the token endpoint refuse every request with an error code.
    pub fn refuse_tokens(&self, code: &str) {
        self.change("/token", Some((400, json!({ "error": code }).to_string())));
    }

    /// Changes the discovery document. Call this before the first request, because coordinators keep the document.
    pub fn change_document(&self, change: impl FnOnce(&mut Value)) {
        let mut document = document(&self.url);
        change(&mut document);
        self.change("/.well-known/openid-configuration", Some((200, document.to_string())));
    }

    /// Returns the answer of the endpoint for a sign-in without a browser (RFC 8628).
    pub fn device(&self) -> Value {
        device(&self.url)
    }

    /// Returns the bodies of the requests for a path.
    pub fn requests(&self, path: &str) -> Vec<String> {
        let answers = self.answers();
        answers.requests.iter().filter(|(of, _)| of == path).map(|(_, body)| body.clone()).collect()
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        locked(&self.answers)
    }
}

fn locked(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request and closes the connection.
async fn answer(mut stream: TcpStream, url: String, answers: Arc<Mutex<Answers>>) {
    let Some((path, body)) = read(&mut stream).await else { return };
    let (status, text) = {
        let mut answers = locked(&answers);
        answers.requests.push((path.clone(), body));
        let usual = match path.as_str() {
            "/jwks" => answers.keys.clone(),
            "/token" => tokens(&answers),
            "/device" => device(&url).to_string(),
            _ => document(&url).to_string(),
        };
        answers.changed.get(&path).cloned().unwrap_or((200, usual))
    };
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let _ = stream.write_all(format!("{head}{text}").as_bytes()).await;
}

/// Returns the answer of the token endpoint. Without an ID token or refresh token, the answer lacks it.
fn tokens(answers: &Answers) -> String {
    let mut tokens = json!({ "access_token": "a", "token_type": "Bearer" });
    if !answers.token.is_empty() {
        tokens["id_token"] = json!(answers.token);
    }
    if let Some(token) = &answers.refresh_token {
        tokens["refresh_token"] = json!(token);
    }
    tokens.to_string()
}

async fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(Some(0), |length| length.parse().ok())? {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn document(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks"),
        "end_session_endpoint": format!("{url}/end"),
        "device_authorization_endpoint": format!("{url}/device"),
        "revocation_endpoint": format!("{url}/revoke"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        // An issuer that allows everything must not widen what the coordinator accepts.
        "id_token_signing_alg_values_supported": ["RS256", "EdDSA", "HS256", "none"],
    })
}

fn device(url: &str) -> Value {
    json!({
        "device_code": "a code of the device",
        "user_code": "WDJB-MJHT",
        "verification_uri": format!("{url}/enter"),
        "verification_uri_complete": format!("{url}/enter?code=WDJB-MJHT"),
        "expires_in": 600,
        "interval": 5,
    })
}
