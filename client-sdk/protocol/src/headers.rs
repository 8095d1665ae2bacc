//! The names of the HTTP headers of requests, in lower case as in HTTP/2.

/// All names.
pub const ALL: [&str; 9] =
    [CLIENT, PROTOCOL, AUDIENCE, TIMESTAMP, NONCE, SIGNATURE, CONTENT_DIGEST, UPLOAD_OFFSET, UPLOAD_LENGTH];

/// The client id.
pub const CLIENT: &str = "folkmoot-client";
/// The client's protocol version.
pub const PROTOCOL: &str = "folkmoot-protocol";
/// The name of the coordinator that the request is for, since protocol version 2.
pub const AUDIENCE: &str = "folkmoot-audience";
/// The time of signing, in milliseconds since 1970.
pub const TIMESTAMP: &str = "folkmoot-timestamp";
/// 16 random bytes in hexadecimal, never reused.
pub const NONCE: &str = "folkmoot-nonce";
/// The Ed25519 signature over [`crate::signing::signed_text`], in base64.
pub const SIGNATURE: &str = "folkmoot-signature";
/// The BLAKE3 of the request's body, or of the whole update for an upload.
pub const CONTENT_DIGEST: &str = "folkmoot-content-digest";
/// For an upload: the offset of the request's body in the update.
pub const UPLOAD_OFFSET: &str = "folkmoot-upload-offset";
/// For an upload: the size of the whole update in bytes.
pub const UPLOAD_LENGTH: &str = "folkmoot-upload-length";
