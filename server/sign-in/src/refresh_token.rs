use std::fmt;

use openidconnect::OAuth2TokenResponse;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::client::Tokens;

/// The longest refresh token that is kept, in bytes. Providers send 20 to 2,000.
const BYTES_MAX: usize = 8192;

/// A secret with which the coordinator asks an identity provider again for a person, without the person.
///
/// It is stored encrypted with a key that is derived from the secret of the person's session. The coordinator does not
/// store that secret, so a copy of the database opens nobody's account.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken(String);

/// A stored refresh token cannot be decrypted: it was changed, or belongs to another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored refresh token cannot be decrypted with the secret of this session")]
pub struct SealError;

impl RefreshToken {
    /// Creates a token from text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the token of a provider's answer; `None` if there is none or it is too long.
    pub(crate) fn of(tokens: &Tokens) -> Option<Self> {
        let text = tokens.refresh_token()?.secret();
        (!text.is_empty() && text.len() <= BYTES_MAX).then(|| Self(text.clone()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Encrypts the token with ChaCha20-Poly1305 (RFC 8439). `nonce` must be random and new.
    ///
    /// # Panics
    /// Never: the lengths are right, and a token is far shorter than the cipher allows.
    pub fn seal(&self, session_secret: &str, nonce: [u8; NONCE_LEN]) -> Vec<u8> {
        let mut sealed = self.0.clone().into_bytes();
        key(session_secret)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
            .expect("the cipher takes 256 GiB");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts a token that [`RefreshToken::seal`] has encrypted.
    ///
    /// # Errors
    /// [`SealError`] if the text was changed or `session_secret` is another one.
    pub fn open(sealed: &[u8], session_secret: &str) -> Result<Self, SealError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError)?;
        let mut text = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text =
            key(session_secret).open_in_place(nonce, Aad::empty(), &mut text).map_err(|_| SealError)?;
        String::from_utf8(text.to_vec()).map(Self).map_err(|_| SealError)
    }
}

fn key(session_secret: &str) -> LessSafeKey {
    let key = blake3::derive_key("folkmoot 2026-11 refresh token of a session", session_secret.as_bytes());
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).expect("the key has 32 bytes"))
}

/// Hides the secret.
impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_of_the_session_opens_a_token() {
        let token = RefreshToken::new("a token of the provider");
        let sealed = token.seal("secret", [7; 12]);
        assert_eq!(RefreshToken::open(&sealed, "secret"), Ok(token.clone()));
        assert_eq!(RefreshToken::open(&sealed, "Secret"), Err(SealError));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(RefreshToken::open(&changed, "secret"), Err(SealError), "byte {index}");
            assert_eq!(RefreshToken::open(&sealed[..index], "secret"), Err(SealError), "the first {index}");
        }
        assert!(!format!("{token:?}").contains("provider"));
        assert!(!sealed.windows(8).any(|window| window == b"provider"));
    }
}
