use std::{fmt::Write, io, sync::Arc, time::Duration};

use bytes::Bytes;
use folkmoot_protocol::{ClientId, ErrorCode, PROTOCOL_VERSION, UpdateDigest, headers, signing::SignedParts};
use folkmoot_work::Way;
use reqwest::{
    Method, RequestBuilder, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE, RANGE},
};
use serde::Serialize;

use super::{Transport, TransportError, UpdateSource, response};
use crate::traffic::Traffic;

/// Seconds within which a control message must be answered.
pub(super) const CONTROL_SECONDS_MAX: u64 = 30;

/// A request before signing.
pub(super) struct Unsigned<'a> {
    pub method: Method,
    /// The path with its query. Starts with a slash.
    pub path: &'a str,
    /// The client id, or `None` when enrolling.
    pub client: Option<ClientId>,
    pub payload: Payload<'a>,
    /// The time limit. Without one, the reader of the response must watch for a silent connection.
    pub timeout: Option<Duration>,
}

/// The content of a request.
pub(super) enum Payload<'a> {
    /// No content. The response should start at this byte.
    Nothing { range_start: u64 },
    /// A JSON message.
    Json(Bytes),
    /// An update, starting at `offset`.
    Update { source: &'a UpdateSource, offset: u64, length: u64, digest: UpdateDigest },
}

impl Payload<'_> {
    fn digest(&self) -> UpdateDigest {
        match self {
            Self::Nothing { .. } => UpdateDigest::of(b""),
            Self::Json(body) => UpdateDigest::of(body),
            Self::Update { digest, .. } => *digest,
        }
    }

    fn upload(&self) -> Option<(u64, u64)> {
        match self {
            Self::Update { offset, length, .. } => Some((*offset, *length)),
            _ => None,
        }
    }

    async fn attach(&self, request: RequestBuilder, traffic: &Arc<Traffic>) -> io::Result<RequestBuilder> {
        Ok(match self {
            Self::Nothing { range_start: 0 } => request,
            Self::Nothing { range_start } => request.header(RANGE, format!("bytes={range_start}-")),
            Self::Json(body) => {
                traffic.count(Way::Up, body.len() as u64);
                request.header(CONTENT_TYPE, "application/json").body(body.clone())
            }
            Self::Update { source, offset, length, .. } => request
                .header(CONTENT_TYPE, "application/octet-stream")
                .header(CONTENT_LENGTH, length.saturating_sub(*offset))
                .header(headers::UPLOAD_OFFSET, *offset)
                .header(headers::UPLOAD_LENGTH, *length)
                .body(source.body(*offset, *length, traffic).await?),
        })
    }
}

impl Transport {
    /// Returns the client id, or an error if the client is not enrolled.
    pub(super) fn enrolled_id(&self) -> Result<ClientId, TransportError> {
        self.client_id().ok_or(TransportError::NotEnrolled)
    }

    /// Signs the request with a new nonce and the coordinator's time.
    fn sign(&self, unsigned: &Unsigned<'_>) -> RequestBuilder {
        let content = unsigned.payload.digest();
        let nonce = hex(&self.0.host.random_bytes::<16>());
        let timestamp = self.coordinator_time();
        let signature = self.0.key.sign(&SignedParts {
            method: unsigned.method.as_str(),
            path: unsigned.path,
            client: unsigned.client,
            protocol: PROTOCOL_VERSION,
            timestamp,
            nonce: &nonce,
            content,
            upload: unsigned.payload.upload(),
            audience: Some(self.host_name()),
        });
        let address = format!("{}{}", self.0.coordinator.as_str().trim_end_matches('/'), unsigned.path);
        let mut request = self
            .0
            .http
            .request(unsigned.method.clone(), address)
            .header(headers::PROTOCOL, PROTOCOL_VERSION)
            .header(headers::AUDIENCE, self.host_name())
            .header(headers::TIMESTAMP, timestamp.0)
            .header(headers::NONCE, nonce)
            .header(headers::CONTENT_DIGEST, content.to_string())
            .header(headers::SIGNATURE, signature);
        if let Some(client) = unsigned.client {
            request = request.header(headers::CLIENT, client.to_string());
        }
        if let Some(timeout) = unsigned.timeout {
            request = request.timeout(timeout);
        }
        request
    }

    /// Sends the request. If this host's clock was wrong, sends it once more with the coordinator's time.
    pub(super) async fn send(&self, unsigned: &Unsigned<'_>) -> Result<Response, TransportError> {
        let problem = match self.send_once(unsigned).await {
            Err(TransportError::Refused(problem)) if problem.code == ErrorCode::ClockSkew => problem,
            result => return result,
        };
        let Some(server_time) = problem.server_time else { return Err(TransportError::Refused(problem)) };
        self.learn_time(server_time);
        self.send_once(unsigned).await
    }

    async fn send_once(&self, unsigned: &Unsigned<'_>) -> Result<Response, TransportError> {
        let request = unsigned.payload.attach(self.sign(unsigned), &self.0.traffic).await?;
        response::check(request.send().await.map_err(TransportError::network)?).await
    }

    /// Sends a JSON message and returns the response. The caller reads the body.
    pub(super) async fn post(
        &self,
        path: &str,
        client: Option<ClientId>,
        message: &(impl Serialize + Sync),
        extra_seconds: u64,
    ) -> Result<Response, TransportError> {
        let body = serde_json::to_vec(message).map_err(io::Error::other)?;
        let timeout = Some(Duration::from_secs(CONTROL_SECONDS_MAX + extra_seconds));
        let payload = Payload::Json(body.into());
        self.send(&Unsigned { method: Method::POST, path, client, payload, timeout }).await
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
