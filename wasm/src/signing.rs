//! What a request needs beside its signature, which the page's own cryptography makes: the key cannot be taken out of it.

use folkmoot_protocol::{
    BlobDigest, ClientId, PROTOCOL_VERSION, Timestamp, UpdateDigest,
    signing::{SignedParts, signed_text},
};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::thrown;

/// The parts of a request that are signed.
#[derive(serde::Deserialize)]
struct Parts {
    method: String,
    path: String,
    client: Option<ClientId>,
    timestamp: Timestamp,
    nonce: String,
    content: UpdateDigest,
    upload: Option<(u64, u64)>,
}

/// The text that a client signs, from its parts as JSON.
#[wasm_bindgen(js_name = signedText)]
pub fn text_to_sign(parts: &str) -> Result<String, JsError> {
    let Parts { method, path, client, timestamp, nonce, content, upload } =
        serde_json::from_slice(parts.as_bytes()).map_err(thrown)?;
    let protocol = PROTOCOL_VERSION;
    let (method, path, nonce) = (&method, &path, &nonce);
    Ok(signed_text(&SignedParts { method, path, client, protocol, timestamp, nonce, content, upload }))
}

/// The digest of a request's body, or of an update.
#[wasm_bindgen(js_name = contentDigest)]
pub fn content_digest(bytes: &[u8]) -> String {
    UpdateDigest::of(bytes).to_string()
}

/// The digest of a blob.
#[wasm_bindgen(js_name = blobDigest)]
pub fn blob_digest(bytes: &[u8]) -> String {
    BlobDigest::of(bytes).to_string()
}

/// The protocol version that requests state.
#[wasm_bindgen(js_name = protocolVersion)]
pub fn protocol_version() -> u16 {
    PROTOCOL_VERSION
}
