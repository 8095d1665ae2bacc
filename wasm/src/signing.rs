//! Builds the parts of a signed request except the signature itself. The page's Web Crypto signs, because the key
//! cannot be exported.

use folkmoot_protocol::{
    BlobDigest, PROTOCOL_VERSION, Timestamp, UpdateDigest,
    signing::{SignedParts, signed_text},
};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::thrown;

/// Returns the text that a client signs, from the parts of its request. `timestamp` is in milliseconds since 1970.
/// `upload` is the first byte and the length of an update, or nothing. `audience` is the host in the coordinator's address.
#[wasm_bindgen(js_name = signedText)]
#[expect(clippy::too_many_arguments, reason = "JavaScript passes plain values more cheaply than an object")]
pub fn text_to_sign(
    method: &str,
    path: &str,
    client: Option<String>,
    timestamp: f64,
    nonce: &str,
    content: &str,
    upload: &[f64],
    audience: &str,
) -> Result<String, JsError> {
    let upload = upload.first_chunk().map(|&[offset, length]| (offset as u64, length as u64));
    Ok(signed_text(&SignedParts {
        method,
        path,
        client: client.map(|client| client.parse()).transpose().map_err(thrown)?,
        protocol: PROTOCOL_VERSION,
        timestamp: Timestamp(timestamp as u64),
        nonce,
        content: content.parse().map_err(thrown)?,
        upload,
        audience: Some(audience),
    }))
}

/// Returns the digest of a request's body or of an update.
#[wasm_bindgen(js_name = contentDigest)]
pub fn content_digest(bytes: &[u8]) -> String {
    UpdateDigest::of(bytes).to_string()
}

/// Returns the digest of a blob.
#[wasm_bindgen(js_name = blobDigest)]
pub fn blob_digest(bytes: &[u8]) -> String {
    BlobDigest::of(bytes).to_string()
}

/// Returns the protocol version that requests state.
#[wasm_bindgen(js_name = protocolVersion)]
pub fn protocol_version() -> u16 {
    PROTOCOL_VERSION
}
