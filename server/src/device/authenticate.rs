use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::{
    ClientId, ErrorCode, Timestamp, is_protocol_version_served,
    limits::CLOCK_SKEW_MILLISECONDS_MAX,
    signing::{self, SignedParts, SigningError},
};
use folkmoot_storage::{ClientRecord, ClientRepository};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Nonces that are remembered in each half of the window, at most; beyond it requests are refused for a while
/// rather than let through unchecked.
const NONCES_MAX: usize = 2_000_000;
/// Requests that a client may send at once.
const BURST: f64 = 200.0;
/// Requests that a client may send in the long run, per second.
const REQUESTS_PER_SECOND: f64 = 20.0;
/// Clients whose rate is remembered, at most.
const RATES_MAX: usize = 1_000_000;

/// A signed request's claims, before anything of them is believed.
#[derive(Clone, Debug)]
pub struct Claimed<'a> {
    /// The signed parts.
    pub parts: SignedParts<'a>,
    /// The signature's header.
    pub signature: &'a str,
}

/// Believes signed requests, once each.
///
/// Nonces are remembered in memory for the window in which a timestamp is taken. A restart forgets them; a
/// request that is replayed then changes nothing, because every request is idempotent (see
/// `docs/threat-model.md`).
#[derive(Default)]
pub struct Authenticator {
    nonces: Mutex<Nonces>,
    rates: Mutex<HashMap<ClientId, Rate>>,
}

#[derive(Default)]
struct Nonces {
    rotated_at: Timestamp,
    current: HashSet<[u8; 32]>,
    previous: HashSet<[u8; 32]>,
}

struct Rate {
    tokens: f64,
    at: Timestamp,
}

impl Authenticator {
    /// Verifies a request and returns the client that sent it.
    ///
    /// # Errors
    /// A refusal for anything that does not hold: version, clock, key, signature, nonce, rate.
    pub async fn client(
        &self,
        coordinator: &Coordinator,
        claimed: &Claimed<'_>,
        now: Timestamp,
    ) -> Result<ClientRecord, Refusal> {
        let Some(id) = claimed.parts.client else {
            return Err(Refusal::new(ErrorCode::SignatureMissing, "the header folkmoot-client is missing"));
        };
        check_claims(claimed, now)?;
        let unknown = || {
            Refusal::new(ErrorCode::ClientUnknown, format!("no client {id} is enrolled here; enrol again"))
        };
        let client = coordinator.storage.client(id).await?.ok_or_else(unknown)?;
        check_signature(&client.public_key, claimed)?;
        if client.revoked_at.is_some() {
            return Err(Refusal::new(ErrorCode::ClientRevoked, "this client's key was revoked"));
        }
        // The rate first: a client that sends too much must not fill the memory of nonces for all.
        self.take_rate(id, now)?;
        self.take_nonce(id.as_bytes(), claimed.parts.nonce, now)?;
        Ok(client)
    }

    /// Verifies an enrolment, which is signed with the key that it brings.
    ///
    /// # Errors
    /// A refusal for anything that does not hold.
    pub fn enrolment(&self, public_key: &str, claimed: &Claimed<'_>, now: Timestamp) -> Result<(), Refusal> {
        check_claims(claimed, now)?;
        check_signature(public_key, claimed)?;
        self.take_nonce(public_key.as_bytes(), claimed.parts.nonce, now)
    }

    fn take_nonce(&self, who: &[u8], nonce: &str, now: Timestamp) -> Result<(), Refusal> {
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        // A nonce must be known for as long as its timestamp is taken: twice the skew. Two halves of that
        // length each keep it for at least so long.
        if now.milliseconds_since(nonces.rotated_at) > 2 * CLOCK_SKEW_MILLISECONDS_MAX {
            nonces.previous = std::mem::take(&mut nonces.current);
            nonces.rotated_at = now;
        }
        if nonces.current.len() >= NONCES_MAX {
            return Err(Refusal::new(ErrorCode::Overloaded, "too many requests are being checked")
                .retry_after(10_000));
        }
        let mut hasher = blake3::Hasher::new();
        let key = *hasher.update(who).update(b"\n").update(nonce.as_bytes()).finalize().as_bytes();
        if nonces.previous.contains(&key) || !nonces.current.insert(key) {
            let detail = "the nonce was used before; sign again with a fresh one";
            return Err(Refusal::new(ErrorCode::RequestReplayed, detail));
        }
        Ok(())
    }

    /// A token bucket for each client (Turner 1986, the leaky bucket as a meter).
    fn take_rate(&self, client: ClientId, now: Timestamp) -> Result<(), Refusal> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= RATES_MAX {
            rates.retain(|_, rate| now.milliseconds_since(rate.at) < 60_000);
        }
        let rate = rates.entry(client).or_insert(Rate { tokens: BURST, at: now });
        let seconds = now.milliseconds_since(rate.at) as f64 / 1000.0;
        rate.tokens = (rate.tokens + seconds * REQUESTS_PER_SECOND).min(BURST);
        rate.at = now;
        if rate.tokens < 1.0 {
            let detail = format!("more than {REQUESTS_PER_SECOND} requests a second; slow down");
            return Err(Refusal::new(ErrorCode::RateLimited, detail).retry_after(1_000));
        }
        rate.tokens -= 1.0;
        Ok(())
    }
}

fn check_claims(claimed: &Claimed<'_>, now: Timestamp) -> Result<(), Refusal> {
    let parts = &claimed.parts;
    if !is_protocol_version_served(parts.protocol) {
        let detail = format!("protocol version {} is not served; update the SDK", parts.protocol);
        return Err(Refusal::new(ErrorCode::UnsupportedProtocolVersion, detail));
    }
    let is_nonce = parts.nonce.len() == 32 && parts.nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_nonce {
        return Err(Refusal::new(
            ErrorCode::MalformedRequest,
            "folkmoot-nonce must be 32 hexadecimal digits",
        ));
    }
    if parts.timestamp.0.abs_diff(now.0) > CLOCK_SKEW_MILLISECONDS_MAX {
        let detail = "the request was signed more than 5 minutes from now; sign again with server_time";
        return Err(Refusal::new(ErrorCode::ClockSkew, detail).server_time(now));
    }
    Ok(())
}

fn check_signature(public_key: &str, claimed: &Claimed<'_>) -> Result<(), Refusal> {
    signing::verify(public_key, claimed.signature, &claimed.parts).map_err(|error| {
        let detail = match error {
            SigningError::Malformed => "the key or signature cannot be read",
            SigningError::Mismatch => "the signature does not fit the request and the client's key",
        };
        Refusal::new(ErrorCode::SignatureInvalid, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<(), Refusal>) -> Option<ErrorCode> {
        result.err().map(|refusal| refusal.code())
    }

    #[test]
    fn a_nonce_is_taken_once_for_as_long_as_its_timestamp_is() {
        let authenticator = Authenticator::default();
        let take = |now: u64| code(authenticator.take_nonce(b"client", "n", Timestamp(now)));
        let start = 1_000_000_000;
        assert_eq!(take(start), None);
        for later in [0, CLOCK_SKEW_MILLISECONDS_MAX, 2 * CLOCK_SKEW_MILLISECONDS_MAX] {
            assert_eq!(take(start + later), Some(ErrorCode::RequestReplayed), "{later}");
        }
        assert_eq!(code(authenticator.take_nonce(b"other", "n", Timestamp(start))), None);
    }

    /// A second nonce rotates the halves while the first one's timestamp is still taken.
    #[test]
    fn a_nonce_is_refused_after_the_halves_rotated() {
        let authenticator = Authenticator::default();
        let take = |nonce: &str, now: u64| code(authenticator.take_nonce(b"client", nonce, Timestamp(now)));
        let start = 1_000_000_000;
        let half = 2 * CLOCK_SKEW_MILLISECONDS_MAX;
        assert_eq!(take("first", start), None, "it begins the first half");
        assert_eq!(take("early", start + half), None, "the last moment of the first half");
        assert_eq!(take("late", start + half + 1), None, "it begins the second half");
        assert_eq!(take("early", start + half + 1), Some(ErrorCode::RequestReplayed));
        assert_eq!(
            take("early", start + half + CLOCK_SKEW_MILLISECONDS_MAX),
            Some(ErrorCode::RequestReplayed)
        );
    }

    #[test]
    fn a_client_that_asks_too_often_must_wait() {
        let authenticator = Authenticator::default();
        let client = ClientId::from_random_bytes([1; 16]);
        let start = Timestamp(1_000_000);
        let refused = (0..1000).filter(|_| authenticator.take_rate(client, start).is_err()).count();
        assert_eq!(refused, 1000 - BURST as usize);
        assert_eq!(code(authenticator.take_rate(client, start.plus_seconds(1))), None);
    }
}
