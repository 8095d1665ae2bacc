//! Request signatures, which prevent requests from being forged, altered or sent to another address.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::{ClientId, Timestamp, UpdateDigest};

/// The parts of a request that its signature covers.
#[derive(Clone, Debug)]
pub struct SignedParts<'a> {
    /// The HTTP method, in upper case.
    pub method: &'a str,
    /// The path with its query, as it stands in the request line.
    pub path: &'a str,
    /// The client id; `None` when enrolling, before the client has one.
    pub client: Option<ClientId>,
    /// The protocol version.
    pub protocol: u16,
    /// The time of signing.
    pub timestamp: Timestamp,
    /// The nonce, as in its header.
    pub nonce: &'a str,
    /// The digest of the body, or of the whole update.
    pub content: UpdateDigest,
    /// For an upload: the offset of the body in the update, and the update's length.
    pub upload: Option<(u64, u64)>,
    /// The name of the coordinator that the request is for: the host of the address that the client uses. Requests of
    /// protocol version 1 have none.
    pub audience: Option<&'a str>,
}

/// The signature or key is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// Not base64, or not of the right length.
    #[error("the public key is not base64 of 32 bytes, or the signature is not base64 of 64 bytes")]
    Malformed,
    /// The signature does not match this key and text, or the key is weak.
    #[error("the signature does not match the key and the signed text")]
    Mismatch,
}

/// Returns the text to sign, with one part per line, so that no two requests have the same text. The audience's line is
/// left out if there is none.
pub fn signed_text(parts: &SignedParts<'_>) -> String {
    let client = parts.client.map(|id| id.to_string()).unwrap_or_default();
    let (offset, length) =
        parts.upload.map_or(("".into(), "".into()), |(o, l)| (o.to_string(), l.to_string()));
    let audience = parts.audience.map(|name| format!("{name}\n")).unwrap_or_default();
    format!(
        "folkmoot-request\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{audience}",
        parts.method,
        parts.path,
        client,
        parts.protocol,
        parts.timestamp.0,
        parts.nonce,
        parts.content,
        offset,
        length
    )
}

/// Signs the parts and returns the header's value.
pub fn sign(key: &SigningKey, parts: &SignedParts<'_>) -> String {
    sign_text(key, &signed_text(parts))
}

/// Signs a text and returns the signature in base64. The text's first line must name its purpose, so that a signature of one
/// kind is not one of another.
pub fn sign_text(key: &SigningKey, text: &str) -> String {
    STANDARD.encode(key.sign(text.as_bytes()).to_bytes())
}

/// Verifies a header's value against a client's public key (base64, 32 bytes).
///
/// Verification is strict (RFC 8032, section 5.1.7, with the checks of Chalkias et al. 2020): a non-canonical S and
/// points of small order are refused. A signature therefore cannot be turned into a second valid one.
///
/// # Errors
/// [`SigningError::Malformed`] if the key or signature cannot be decoded, [`SigningError::Mismatch`] if it is invalid.
pub fn verify(public_key: &str, signature: &str, parts: &SignedParts<'_>) -> Result<(), SigningError> {
    verify_text(public_key, signature, &signed_text(parts))
}

/// Verifies the signature of a text, as strictly as [`verify`].
///
/// # Errors
/// The errors of [`verify`].
pub fn verify_text(public_key: &str, signature: &str, text: &str) -> Result<(), SigningError> {
    let key = decode_public_key(public_key)?;
    let signature = STANDARD.decode(signature).map_err(|_| SigningError::Malformed)?;
    let signature = Signature::from_slice(&signature).map_err(|_| SigningError::Malformed)?;
    key.verify_strict(text.as_bytes(), &signature).map_err(|_| SigningError::Mismatch)
}

/// Checks that a text is a public key: base64 of the 32 bytes of a point that is not weak.
///
/// # Errors
/// [`SigningError::Malformed`] if it cannot be decoded, [`SigningError::Mismatch`] if the key is weak.
pub fn check_public_key(text: &str) -> Result<(), SigningError> {
    decode_public_key(text).map(|_| ())
}

/// Encodes a public key as base64.
pub fn encode_public_key(key: &SigningKey) -> String {
    STANDARD.encode(key.verifying_key().to_bytes())
}

fn decode_public_key(text: &str) -> Result<VerifyingKey, SigningError> {
    let bytes = STANDARD.decode(text).map_err(|_| SigningError::Malformed)?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| SigningError::Malformed)?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| SigningError::Malformed)?;
    if key.is_weak() { Err(SigningError::Mismatch) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>() -> SignedParts<'a> {
        SignedParts {
            method: "POST",
            path: "/v1/check-in",
            client: Some(ClientId::from_random_bytes([1; 16])),
            protocol: 1,
            timestamp: Timestamp(1_700_000_000_000),
            nonce: "00112233445566778899aabbccddeeff",
            content: UpdateDigest::of(b"{}"),
            upload: None,
            audience: Some("coordinator.example"),
        }
    }

    #[test]
    fn a_signature_holds_for_its_request_only() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let public_key = encode_public_key(&key);
        let signature = sign(&key, &parts());
        assert_eq!(verify(&public_key, &signature, &parts()), Ok(()));
        let altered: [fn(&mut SignedParts<'_>); 10] = [
            |p| p.method = "PUT",
            |p| p.path = "/v1/check-in?wait_seconds=1",
            |p| p.client = None,
            |p| p.protocol = 2,
            |p| p.timestamp.0 += 1,
            |p| p.nonce = "10112233445566778899aabbccddeeff",
            |p| p.content = UpdateDigest::of(b"{} "),
            |p| p.upload = Some((0, 1)),
            |p| p.audience = Some("other.example"),
            |p| p.audience = None,
        ];
        for alter in altered {
            let mut parts = parts();
            alter(&mut parts);
            assert_eq!(verify(&public_key, &signature, &parts), Err(SigningError::Mismatch));
        }
    }

    #[test]
    fn weak_keys_and_malleable_signatures_are_refused() {
        let key = SigningKey::from_bytes(&[9; 32]);
        // The neutral element: of order 1, it would make signatures hold for any text.
        let mut neutral = [0u8; 32];
        neutral[0] = 1;
        let signature = sign(&key, &parts());
        assert_eq!(verify(&STANDARD.encode(neutral), &signature, &parts()), Err(SigningError::Mismatch));
        // S + L is the same S modulo the group order L, but not canonical.
        let mut bytes = STANDARD.decode(&signature).unwrap();
        let order = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let mut carry = 0u16;
        for (byte, add) in bytes[32..].iter_mut().zip(order) {
            carry += u16::from(*byte) + add;
            *byte = carry as u8;
            carry >>= 8;
        }
        assert!(verify(&encode_public_key(&key), &STANDARD.encode(bytes), &parts()).is_err());
    }
}
