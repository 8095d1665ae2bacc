use std::{fmt, str::FromStr};

/// One attempt to sign in: a secret that only the browser keeps, in a cookie.
///
/// The state, the nonce and the PKCE verifier are derived from the secret and the provider's name. So the coordinator
/// stores nothing while a person is at the provider, any process on the same database can finish the attempt, and the
/// answer to one browser or provider is useless in another.
#[derive(Clone, PartialEq, Eq)]
pub struct Attempt([u8; 32]);

impl Attempt {
    /// Creates an attempt from 32 random bytes.
    pub fn from_random_bytes(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Returns the `state` that the provider sends back through the browser.
    pub fn state(&self, provider: &str) -> String {
        self.derived("state", provider)
    }

    /// Returns the `nonce` that the ID token must contain.
    pub fn nonce(&self, provider: &str) -> String {
        self.derived("nonce", provider)
    }

    /// Returns the PKCE verifier (RFC 7636), which only the token request contains.
    pub fn verifier(&self, provider: &str) -> String {
        self.derived("verifier", provider)
    }

    fn derived(&self, purpose: &str, provider: &str) -> String {
        let text = format!("{purpose} {provider}");
        let key = blake3::derive_key("folkmoot 2026-11 sign-in attempt", &self.0);
        blake3::keyed_hash(&key, text.as_bytes()).to_hex().to_string()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hides the secret.
impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attempt(…)")
    }
}

impl FromStr for Attempt {
    type Err = ();

    /// Parses 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ()> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_survives_its_cookie_and_nothing_else_does() {
        let attempt = Attempt::from_random_bytes([7; 32]);
        assert_eq!(attempt.to_string().parse(), Ok(attempt.clone()));
        for wrong in ["", "07", &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(wrong.parse::<Attempt>(), Err(()), "{wrong}");
        }
        assert!(!format!("{attempt:?}").contains("07"));
    }

    #[test]
    fn what_is_derived_differs_by_purpose_provider_and_attempt() {
        let [one, other] = [[1; 32], [2; 32]].map(Attempt::from_random_bytes);
        let all = [
            one.state("a"),
            one.nonce("a"),
            one.verifier("a"),
            one.state("b"),
            other.state("a"),
            one.to_string(),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|text| text.len() == 64), "PKCE verifiers have 43 to 128 characters");
    }
}
