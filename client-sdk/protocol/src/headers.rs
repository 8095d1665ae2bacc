//! The names of the HTTP headers that requests carry, in lower case as HTTP/2 has them.

/// Who asks: the client id.
pub const CLIENT: &str = "folkmoot-client";
/// Which protocol version the client speaks.
pub const PROTOCOL: &str = "folkmoot-protocol";
/// When the request was signed, in milliseconds since 1970.
pub const TIMESTAMP: &str = "folkmoot-timestamp";
/// 16 random bytes in hexadecimal, never used again.
pub const NONCE: &str = "folkmoot-nonce";
/// The Ed25519 signature over [`crate::signing::signed_text`], in base64.
pub const SIGNATURE: &str = "folkmoot-signature";
/// The BLAKE3 of the request's body, or of the whole update for an upload.
pub const CONTENT_DIGEST: &str = "folkmoot-content-digest";
/// Upload: the byte of the update at which this request's body begins.
pub const UPLOAD_OFFSET: &str = "folkmoot-upload-offset";
/// Upload: the bytes of the whole update.
pub const UPLOAD_LENGTH: &str = "folkmoot-upload-length";
