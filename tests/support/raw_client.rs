//! A client that signs what a test wants, and lets the test alter it before or after.

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    AssignmentId, ClientId, PROTOCOL_VERSION, Timestamp, UpdateDigest, headers,
    messages::{Assignment, CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse, UploadStatus},
    signing::{self, SignedParts},
};
use serde::Serialize;

use crate::{
    raw::{Answer, Endpoint, RawRequest},
    task::{now, random_bytes},
};

/// A client with a key of its own.
#[derive(Clone)]
pub struct RawClient {
    /// Where it sends.
    pub endpoint: Endpoint,
    /// Its key.
    pub key: SigningKey,
    /// Its id, once it is enrolled.
    pub id: Option<ClientId>,
    /// What it says at a check-in.
    pub check_in_body: Vec<u8>,
}

/// What a request says and what its signature covers, before it is signed.
#[derive(Clone, Debug)]
pub struct Unsigned {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Who asks.
    pub client: Option<ClientId>,
    /// The protocol version.
    pub protocol: u16,
    /// When it is signed.
    pub timestamp: Timestamp,
    /// The nonce.
    pub nonce: String,
    /// The digest that is announced.
    pub content: UpdateDigest,
    /// For an upload: offset and length.
    pub upload: Option<(u64, u64)>,
    /// The content type.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: Vec<u8>,
}

impl Unsigned {
    /// Signs the request with a key.
    pub fn sign(&self, key: &SigningKey) -> RawRequest {
        let parts = SignedParts {
            method: &self.method,
            path: &self.path,
            client: self.client,
            protocol: self.protocol,
            timestamp: self.timestamp,
            nonce: &self.nonce,
            content: self.content,
            upload: self.upload,
        };
        let mut request = RawRequest::new(&self.method, &self.path)
            .with(headers::PROTOCOL, self.protocol)
            .with(headers::TIMESTAMP, self.timestamp.0)
            .with(headers::NONCE, &self.nonce)
            .with(headers::CONTENT_DIGEST, self.content)
            .with(headers::SIGNATURE, signing::sign(key, &parts))
            .with_body(self.body.clone());
        if let Some(client) = self.client {
            request = request.with(headers::CLIENT, client);
        }
        if let Some((offset, length)) = self.upload {
            request = request.with(headers::UPLOAD_OFFSET, offset).with(headers::UPLOAD_LENGTH, length);
        }
        match self.content_type {
            Some(kind) => request.with("content-type", kind),
            None => request,
        }
    }
}

impl RawClient {
    /// Makes a client with a fresh key that is not enrolled.
    pub fn new(endpoint: &Endpoint) -> Self {
        let key = SigningKey::from_bytes(&random_bytes());
        let check_in = CheckInRequest {
            sdk_version: "test".into(),
            example_count: 1000,
            attributes: Default::default(),
            codecs: Vec::new(),
        };
        let check_in_body = serde_json::to_vec(&check_in).expect("a message is plain data");
        Self { endpoint: endpoint.clone(), key, id: None, check_in_body }
    }

    /// Makes a client and enrols it.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn enrolled(endpoint: &Endpoint, token: &str) -> Self {
        let mut client = Self::new(endpoint);
        let response: EnrolResponse = client.send(&client.enrolment(token)).await.json();
        client.id = Some(response.client_id);
        client
    }

    /// Prepares a request without a body.
    pub fn get(&self, path: &str) -> Unsigned {
        Unsigned {
            method: "GET".into(),
            path: path.into(),
            client: self.id,
            protocol: PROTOCOL_VERSION,
            timestamp: now(),
            nonce: nonce(),
            content: UpdateDigest::of(b""),
            upload: None,
            content_type: None,
            body: Vec::new(),
        }
    }

    /// Prepares a request with any body, said to be JSON.
    pub fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Unsigned {
        let body = body.into();
        let content = UpdateDigest::of(&body);
        let content_type = Some("application/json");
        Unsigned { method: "POST".into(), content, content_type, body, ..self.get(path) }
    }

    /// Prepares a message.
    ///
    /// # Panics
    /// Never: messages are plain data.
    pub fn message(&self, path: &str, message: &impl Serialize) -> Unsigned {
        self.post(path, serde_json::to_vec(message).expect("a message is plain data"))
    }

    /// Prepares an enrolment.
    pub fn enrolment(&self, token: &str) -> Unsigned {
        let public_key = signing::encode_public_key(&self.key);
        let request = EnrolRequest { token: token.into(), public_key };
        Unsigned { client: None, ..self.message("/v1/enrol", &request) }
    }

    /// Prepares a check-in.
    pub fn check_in(&self, wait_seconds: u32) -> Unsigned {
        self.post(&format!("/v1/check-in?wait_seconds={wait_seconds}"), self.check_in_body.clone())
    }

    /// Prepares the upload of a whole update.
    pub fn upload(&self, assignment: AssignmentId, update: &[u8]) -> Unsigned {
        self.upload_part(assignment, update, 0..update.len())
    }

    /// Prepares the upload of a part of an update.
    pub fn upload_part(&self, id: AssignmentId, update: &[u8], part: std::ops::Range<usize>) -> Unsigned {
        Unsigned {
            method: "PUT".into(),
            content: UpdateDigest::of(update),
            upload: Some((part.start as u64, update.len() as u64)),
            content_type: Some("application/octet-stream"),
            body: update[part].to_vec(),
            ..self.get(&update_path(id))
        }
    }

    /// Signs and sends a request.
    ///
    /// # Panics
    /// If no answer comes.
    pub async fn send(&self, request: &Unsigned) -> Answer {
        self.endpoint.send(&request.sign(&self.key)).await
    }

    /// Checks in until it is drawn.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn await_assignment(&self) -> Assignment {
        loop {
            match self.send(&self.check_in(20)).await.json() {
                CheckInResponse::Assigned { assignment } => return assignment,
                CheckInResponse::Wait { .. } => {}
            }
        }
    }

    /// Asks how much of an update has arrived.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn upload_status(&self, id: AssignmentId) -> UploadStatus {
        self.send(&self.get(&update_path(id))).await.json()
    }
}

/// Returns the path of an assignment's update.
pub fn update_path(id: AssignmentId) -> String {
    format!("/v1/assignments/{id}/update")
}

/// Draws a nonce.
pub fn nonce() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}
