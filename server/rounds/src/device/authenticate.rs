use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use folkmoot_coordinator::tenancy::Bucket;
use folkmoot_protocol::{
    ErrorCode, OrganisationId, Timestamp, is_protocol_version_served,
    limits::{CLOCK_AHEAD_MILLISECONDS_MAX, CLOCK_SKEW_MILLISECONDS_MAX},
    signing::{self, SignedParts, SigningError},
};
use folkmoot_storage::{ClientRecord, ClientRepository, SharedNonces, SqlStorage, Storage};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// The number of requests that a client may send in a burst.
const BURST: f64 = 200.0;
/// The sustained rate limit of a client, in requests per second.
const REQUESTS_PER_SECOND: f64 = 20.0;
/// The time for which a nonce is remembered, in milliseconds. It is twice the allowed clock skew, because the timestamp
/// of a request stays valid for that long.
const WINDOW: u64 = 2 * CLOCK_SKEW_MILLISECONDS_MAX;

/// The signed parts of a request, before verification.
#[derive(Clone, Debug)]
pub struct Claimed<'a> {
    /// The parts that the signature covers.
    pub parts: SignedParts<'a>,
    /// The value of the signature header.
    pub signature: &'a str,
}

/// Verifies request signatures and rejects replays.
///
/// Nonces are kept in memory for as long as a timestamp is valid, separately for each client. The rate limit bounds the
/// nonces of one client (24,400 nonces of 8 bytes), so no client can fill the memory of others. A restart forgets the
/// nonces, so requests that were signed before the process started are rejected. Their senders receive the server's
/// time and sign again. If several processes share a database, each nonce is also recorded there, so that no other
/// process accepts it.
#[derive(Default)]
pub struct Authenticator {
    started_at: Timestamp,
    shared: Option<SharedNonces>,
    clients: Mutex<Clients>,
}

#[derive(Default)]
struct Clients {
    of: HashMap<Who, Remembered>,
    swept_at: Timestamp,
}

/// A client's id, or the first 16 bytes of the hash of a public key that is being enrolled.
type Who = [u8; 16];

/// The rate-limit state and the nonces of one client.
struct Remembered {
    /// The client's organisation; `None` for a public key that is being enrolled.
    organisation: Option<OrganisationId>,
    /// The requests that the client may still send.
    bucket: Bucket,
    /// The truncated hashes of the client's nonces, in two generations, so that each nonce is kept for at least
    /// [`WINDOW`]. Nearly every client has only a few nonces, so lists suffice.
    current: Vec<u64>,
    previous: Vec<u64>,
    rotated_at: Timestamp,
}

impl Authenticator {
    /// Creates an authenticator that rejects requests signed before `started_at`. If several processes share `storage`,
    /// it also rejects nonces that another process has accepted.
    pub fn new(started_at: Timestamp, storage: &Storage) -> Self {
        let shared = storage.database().ok().and_then(SqlStorage::shared_nonces);
        Self { started_at, shared, clients: Mutex::default() }
    }

    /// Verifies a request and returns the client that sent it.
    ///
    /// # Errors
    /// Fails if the version, clock, key, signature or nonce is not valid, or the client or its organisation exceeds its
    /// rate limit.
    pub async fn client(
        &self,
        coordinator: &Coordinator,
        claimed: &Claimed<'_>,
        now: Timestamp,
    ) -> Result<ClientRecord, Refusal> {
        let Some(id) = claimed.parts.client else {
            return Err(Refusal::new(
                ErrorCode::SignatureMissing,
                "the header folkmoot-client is missing; send the client's id in it",
            ));
        };
        self.check_claims(claimed, now)?;
        // The sender has not been verified yet. If it is not the client, this takes nothing from the organisation.
        if let Some(organisation_id) = self.organisation_of(*id.as_bytes()) {
            coordinator.tenants.check_rate(organisation_id, now)?;
        }
        let unknown = || {
            Refusal::new(
                ErrorCode::ClientUnknown,
                format!("no client with the id {id} is enrolled here; enrol again"),
            )
        };
        let client = coordinator.storage.client(id).await?.ok_or_else(unknown)?;
        check_signature(&client.public_key, claimed)?;
        if client.revoked_at.is_some() {
            return Err(Refusal::new(
                ErrorCode::ClientRevoked,
                "this client's key was revoked; ask the operator whether it may enrol again",
            ));
        }
        self.take(*id.as_bytes(), Some(client.organisation_id), claimed.parts.nonce, now).await?;
        coordinator.tenants.admit(client.organisation_id, now)?;
        Ok(client)
    }

    /// Returns the organisation of a client that was verified before.
    fn organisation_of(&self, who: Who) -> Option<OrganisationId> {
        self.lock().of.get(&who)?.organisation
    }

    /// Verifies an enrolment request, which is signed with the key in its own body.
    ///
    /// # Errors
    /// Fails if the version, clock, key or signature is not valid.
    pub fn check_enrolment(
        &self,
        public_key: &str,
        claimed: &Claimed<'_>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.check_claims(claimed, now)?;
        check_signature(public_key, claimed)
    }

    /// Records the nonce of an enrolment whose signature and token are valid.
    ///
    /// # Errors
    /// Fails if the nonce was used before.
    pub async fn take_enrolment(&self, public_key: &str, nonce: &str, now: Timestamp) -> Result<(), Refusal> {
        let hash = blake3::hash(public_key.as_bytes());
        let who = *hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
        self.take(who, None, nonce, now).await
    }

    fn check_claims(&self, claimed: &Claimed<'_>, now: Timestamp) -> Result<(), Refusal> {
        let parts = &claimed.parts;
        if !is_protocol_version_served(parts.protocol) {
            let detail = format!("protocol version {} is not supported; update the SDK", parts.protocol);
            return Err(Refusal::new(ErrorCode::UnsupportedProtocolVersion, detail));
        }
        let is_nonce = parts.nonce.len() == 32 && parts.nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_nonce {
            return Err(Refusal::new(
                ErrorCode::MalformedRequest,
                "the header folkmoot-nonce must have 32 hexadecimal digits",
            ));
        }
        let (signed_at, skew) = (parts.timestamp.0, CLOCK_SKEW_MILLISECONDS_MAX);
        if signed_at > now.0.saturating_add(CLOCK_AHEAD_MILLISECONDS_MAX)
            || signed_at < self.started_at.0.max(now.0.saturating_sub(skew))
        {
            let detail = "the request was signed too long ago, before this coordinator started, or in the future; sign \
                it again with the time in server_time";
            return Err(Refusal::new(ErrorCode::ClockSkew, detail).server_time(now));
        }
        Ok(())
    }

    /// Takes a token from the sender's rate limit and records the nonce: first in memory, then in the shared database.
    async fn take(
        &self,
        who: Who,
        organisation: Option<OrganisationId>,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let part = part_of(nonce);
        let is_time_to_forget = self.take_here(who, organisation, part, now)?;
        let Some(shared) = &self.shared else { return Ok(()) };
        if is_time_to_forget {
            forget(shared, now).await;
        }
        if shared.take(who, part, now).await? { Ok(()) } else { Err(replayed()) }
    }

    /// Records a nonce in this process. Returns whether it is time to delete old nonces.
    fn take_here(
        &self,
        who: Who,
        organisation: Option<OrganisationId>,
        part: u64,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        let mut clients = self.lock();
        let is_time = now.milliseconds_since(clients.swept_at) > WINDOW;
        if is_time {
            // A client that was silent for this long has only expired nonces, and its bucket is full again.
            clients.of.retain(|_, client| now.milliseconds_since(client.bucket.at()) <= 2 * WINDOW);
            clients.swept_at = now;
        }
        let client = clients.of.entry(who).or_insert_with(|| Remembered::new(now));
        client.organisation = organisation;
        // Check the rate first: it bounds the number of nonces.
        client.take_rate(now)?;
        client.take_nonce(part, now)?;
        Ok(is_time)
    }

    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deletes the shared nonces whose timestamps every process rejects. If it fails, the next sweep tries again.
async fn forget(shared: &SharedNonces, now: Timestamp) {
    // Twice the window, because another process's clock may be behind by the full skew.
    let earliest = Timestamp(now.0.saturating_sub(2 * WINDOW));
    if let Err(error) = shared.forget_before(earliest).await {
        tracing::warn!(%error, "could not delete old nonces from the database; the next sweep tries again");
    }
}

/// Returns the truncated hash under which a nonce is remembered.
fn part_of(nonce: &str) -> u64 {
    let hash = blake3::hash(nonce.as_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

fn replayed() -> Refusal {
    Refusal::new(ErrorCode::RequestReplayed, "the nonce was used before; sign again with a fresh one")
}

impl Remembered {
    fn new(now: Timestamp) -> Self {
        Self {
            organisation: None,
            bucket: Bucket::default(),
            current: Vec::new(),
            previous: Vec::new(),
            rotated_at: now,
        }
    }

    /// Takes a token from the client's bucket; refuses the request if the bucket is empty.
    fn take_rate(&mut self, now: Timestamp) -> Result<(), Refusal> {
        if self.bucket.take(BURST, REQUESTS_PER_SECOND, now) {
            return Ok(());
        }
        let detail = format!("too many requests: the limit is {REQUESTS_PER_SECOND} per second; slow down");
        Err(Refusal::new(ErrorCode::RateLimited, detail).retry_after(1_000))
    }

    fn take_nonce(&mut self, part: u64, now: Timestamp) -> Result<(), Refusal> {
        if now.milliseconds_since(self.rotated_at) > WINDOW {
            self.previous = std::mem::take(&mut self.current);
            self.rotated_at = now;
        }
        if self.previous.contains(&part) || self.current.contains(&part) {
            return Err(replayed());
        }
        self.current.push(part);
        Ok(())
    }
}

/// Verifies the signature of a request, and nothing else.
///
/// # Errors
/// [`ErrorCode::SignatureInvalid`] if the key has not signed these parts.
pub fn check_signature(public_key: &str, claimed: &Claimed<'_>) -> Result<(), Refusal> {
    signing::verify(public_key, claimed.signature, &claimed.parts).map_err(|error| {
        let detail = match error {
            SigningError::Malformed => "the key or signature cannot be read",
            SigningError::Mismatch => "the signature does not match the request and the client's key",
        };
        Refusal::new(ErrorCode::SignatureInvalid, detail)
    })
}

#[cfg(test)]
mod tests {
    use folkmoot_storage::MemoryStorage;

    use super::*;

    fn code(result: Result<(), Refusal>) -> Option<ErrorCode> {
        result.err().map(|refusal| refusal.code())
    }

    fn taken(authenticator: &Authenticator, who: u8, nonce: &str, now: Timestamp) -> Option<ErrorCode> {
        code(authenticator.take_here([who; 16], None, part_of(nonce), now).map(|_| ()))
    }

    #[test]
    fn a_nonce_is_taken_once_for_as_long_as_its_timestamp_is() {
        let authenticator = Authenticator::default();
        let take = |now: u64| taken(&authenticator, 1, "n", Timestamp(now));
        let start = 1_000_000_000;
        assert_eq!(take(start), None);
        for later in [0, CLOCK_SKEW_MILLISECONDS_MAX, WINDOW] {
            assert_eq!(take(start + later), Some(ErrorCode::RequestReplayed), "{later}");
        }
        assert_eq!(taken(&authenticator, 2, "n", Timestamp(start)), None);
    }

    /// The second nonce rotates the generations while the timestamp of the first nonce is still valid.
    #[test]
    fn a_nonce_is_refused_after_the_halves_rotated() {
        let authenticator = Authenticator::default();
        let take = |nonce: &str, now: u64| taken(&authenticator, 1, nonce, Timestamp(now));
        let start = 1_000_000_000;
        assert_eq!(take("first", start), None, "it begins the first half");
        assert_eq!(take("early", start + WINDOW), None, "the last moment of the first half");
        assert_eq!(take("late", start + WINDOW + 1), None, "it begins the second half");
        assert_eq!(take("early", start + WINDOW + 1), Some(ErrorCode::RequestReplayed));
        let last = start + WINDOW + CLOCK_SKEW_MILLISECONDS_MAX;
        assert_eq!(take("early", last), Some(ErrorCode::RequestReplayed));
    }

    #[test]
    fn a_client_that_asks_too_often_must_wait() {
        let authenticator = Authenticator::default();
        let start = Timestamp(1_000_000);
        let take = |nonce: usize, now| taken(&authenticator, 1, &nonce.to_string(), now);
        let refused = (0..1000).filter(|nonce| take(*nonce, start).is_some()).count();
        assert_eq!(refused, 1000 - BURST as usize);
        assert_eq!(take(1000, start.plus_seconds(1)), None);
    }

    /// One client cannot use up the memory for the others, and its nonces are eventually deleted.
    #[test]
    fn nobody_fills_the_memory_of_nonces() {
        let authenticator = Authenticator::default();
        let start = 1_000_000_000;
        for second in 0..3 * WINDOW / 1000 {
            for one in 0..30 {
                taken(&authenticator, 1, &format!("{second} {one}"), Timestamp(start + second * 1000));
            }
        }
        let kept = |authenticator: &Authenticator| {
            let clients = authenticator.clients.lock().unwrap();
            clients.of.values().map(|client| client.current.len() + client.previous.len()).sum::<usize>()
        };
        let most = 2 * (BURST + WINDOW as f64 / 1000.0 * REQUESTS_PER_SECOND) as usize;
        assert!((most / 2..=most).contains(&kept(&authenticator)), "{} of {most}", kept(&authenticator));
        let later = Timestamp(start + 10 * WINDOW);
        assert_eq!(taken(&authenticator, 2, "n", later), None);
        assert_eq!(kept(&authenticator), 1);
    }

    /// Tests a request whose nonce was forgotten in a restart.
    #[test]
    fn what_was_signed_before_the_start_is_not_taken_again_after_it() {
        let parts = |signed_at: u64| SignedParts {
            method: "POST",
            path: "/v1/check-in",
            client: None,
            protocol: folkmoot_protocol::PROTOCOL_VERSION,
            timestamp: Timestamp(signed_at),
            nonce: "0123456789abcdef0123456789abcdef",
            content: folkmoot_protocol::UpdateDigest::of(b""),
            upload: None,
            audience: None,
        };
        let check = |started_at: u64, signed_at: u64, now: u64| {
            let claimed = Claimed { parts: parts(signed_at), signature: "" };
            code(
                Authenticator::new(Timestamp(started_at), &MemoryStorage::new().into())
                    .check_claims(&claimed, Timestamp(now)),
            )
        };
        let (skew, ahead) = (CLOCK_SKEW_MILLISECONDS_MAX, CLOCK_AHEAD_MILLISECONDS_MAX);
        let now = 1_000_000_000;
        for signed_at in [now - skew, now - 1, now, now + ahead] {
            assert_eq!(check(0, signed_at, now), None, "{signed_at}");
        }
        for signed_at in [now - skew - 1, now + ahead + 1, 0, u64::MAX] {
            assert_eq!(check(0, signed_at, now), Some(ErrorCode::ClockSkew), "{signed_at}");
        }
        assert_eq!(check(now, now, now), None);
        assert_eq!(check(now, now - 1, now), Some(ErrorCode::ClockSkew), "another process took it");
    }
}
