//! A client that signs any request. A test can change a request before or after it is signed.

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

/// A client with its own signing key.
#[derive(Clone)]
pub struct RawClient {
    /// The coordinator's endpoint.
    pub endpoint: Endpoint,
    /// The signing key.
    pub key: SigningKey,
    /// The client's id; `None` before enrolment.
    pub id: Option<ClientId>,
    /// The body of check-ins, in JSON.
    pub check_in_body: Vec<u8>,
}

/// A request before it is signed, with all parts that the signature covers.
#[derive(Clone, Debug)]
pub struct Unsigned {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The requesting client; `None` before enrolment.
    pub client: Option<ClientId>,
    /// The protocol version.
    pub protocol: u16,
    /// The coordinator that the request is for.
    pub audience: Option<String>,
    /// The time of the signature.
    pub timestamp: Timestamp,
    /// The time at which the request was prepared. If a test has not changed the timestamp, the two are equal.
    pub made_at: Timestamp,
    /// The nonce.
    pub nonce: String,
    /// The announced digest of the content.
    pub content: UpdateDigest,
    /// The offset of the part and the total length of an upload, in bytes.
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
            audience: self.audience.as_deref(),
        };
        let mut request = RawRequest::new(&self.method, &self.path)
            .with(headers::PROTOCOL, self.protocol)
            .with(headers::TIMESTAMP, self.timestamp.0)
            .with(headers::NONCE, &self.nonce)
            .with(headers::CONTENT_DIGEST, self.content)
            .with(headers::SIGNATURE, signing::sign(key, &parts))
            .with_body(self.body.clone());
        if let Some(audience) = &self.audience {
            request = request.with(headers::AUDIENCE, audience);
        }
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
    /// Creates a client with a new key, without enrolling it.
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

    /// Creates a client and enrols it.
    ///
    /// # Panics
    /// If the coordinator refuses the enrolment.
    pub async fn enrolled(endpoint: &Endpoint, token: &str) -> Self {
        let mut client = Self::new(endpoint);
        let response: EnrolResponse = client.send(&client.enrolment(token)).await.json();
        client.id = Some(response.client_id);
        client
    }

    /// Prepares a request without a body.
    pub fn get(&self, path: &str) -> Unsigned {
        let made_at = now();
        Unsigned {
            method: "GET".into(),
            path: path.into(),
            client: self.id,
            protocol: PROTOCOL_VERSION,
            audience: Some("localhost".into()),
            timestamp: made_at,
            made_at,
            nonce: nonce(),
            content: UpdateDigest::of(b""),
            upload: None,
            content_type: None,
            body: Vec::new(),
        }
    }

    /// Prepares a request with the content type JSON. The body may be invalid.
    pub fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Unsigned {
        let body = body.into();
        let content = UpdateDigest::of(&body);
        let content_type = Some("application/json");
        Unsigned { method: "POST".into(), content, content_type, body, ..self.get(path) }
    }

    /// Prepares a request with a message as its JSON body.
    ///
    /// # Panics
    /// Never, because messages are plain data.
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

    /// Prepares the upload of a complete update.
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

    /// Signs and sends a request. If the coordinator's clock differs, because a test holds it, signs and sends it again
    /// with the coordinator's time, as the SDKs do. A timestamp that a test has chosen is sent once.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn send(&self, request: &Unsigned) -> Answer {
        let answer = self.endpoint.send(&request.sign(&self.key)).await;
        let server_time = answer.problem().and_then(|problem| problem.server_time);
        let Some(timestamp) = server_time.filter(|_| request.timestamp == request.made_at) else {
            return answer;
        };
        let again = Unsigned { timestamp, nonce: nonce(), ..request.clone() };
        self.endpoint.send(&again.sign(&self.key)).await
    }

    /// Checks in until the client gets an assignment.
    ///
    /// # Panics
    /// If the coordinator refuses a check-in.
    pub async fn await_assignment(&self) -> Assignment {
        loop {
            match self.send(&self.check_in(20)).await.json() {
                CheckInResponse::Assigned { assignment } => return assignment,
                CheckInResponse::Wait { .. } => {}
            }
        }
    }

    /// Asks how many bytes of an update have arrived.
    ///
    /// # Panics
    /// If the coordinator refuses the request.
    pub async fn upload_status(&self, id: AssignmentId) -> UploadStatus {
        self.send(&self.get(&update_path(id))).await.json()
    }
}

/// Returns the URL path of an assignment's update.
pub fn update_path(id: AssignmentId) -> String {
    format!("/v1/assignments/{id}/update")
}

/// Returns a random nonce.
pub fn nonce() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}
