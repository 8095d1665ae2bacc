//! The first organisation, and the first API key of a new coordinator.

use folkmoot_protocol::{OrganisationId, Role, Timestamp};
use folkmoot_rounds::{coordinator::Coordinator, credential::Credential};
use folkmoot_storage::{ApiKeyRepository, LeaseRepository, PopulationRepository, SqlStorage, StorageError};
use rand::Rng;
use rand_chacha::ChaCha20Rng;

use crate::http::draw_key;

/// The name of the organisation that a new coordinator has.
pub const DEFAULT_ORGANISATION: &str = "default";
/// The lease on creating the first API key.
const FIRST_KEY: &str = "first-api-key";
/// The time, in milliseconds, for creating it.
const FIRST_KEY_MILLISECONDS: u64 = 10_000;

/// Returns the organisation that every coordinator has. Creates it in a new database.
pub async fn first_organisation(
    storage: &SqlStorage,
    chance: &mut ChaCha20Rng,
    now: Timestamp,
) -> Result<OrganisationId, StorageError> {
    let mut id = [0; 16];
    chance.fill_bytes(&mut id);
    storage.ensure_organisation(DEFAULT_ORGANISATION, OrganisationId::from_random_bytes(id), now).await
}

/// Creates an admin key and returns it. Returns `None` if the organisation already has a key, or another coordinator that
/// starts at the same time is creating one.
pub async fn ensure_api_key(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    holder: &str,
    now: Timestamp,
) -> Result<Option<Credential>, StorageError> {
    let storage = &coordinator.storage;
    if !storage.api_keys(organisation_id).await?.is_empty() {
        return Ok(None);
    }
    let until = now.plus_milliseconds(FIRST_KEY_MILLISECONDS);
    if !storage.acquire_lease(FIRST_KEY, holder, now, until).await? {
        return Ok(None);
    }
    let key = create_api_key(coordinator, organisation_id, now).await;
    storage.release_lease(FIRST_KEY, holder).await?;
    key
}

async fn create_api_key(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    now: Timestamp,
) -> Result<Option<Credential>, StorageError> {
    if !coordinator.storage.api_keys(organisation_id).await?.is_empty() {
        return Ok(None);
    }
    let (key, record) = draw_key(coordinator, organisation_id, "first key".into(), Role::Admin, now);
    coordinator.storage.create_api_key(&record).await?;
    Ok(Some(key))
}

/// Draws the key of request ids from a stream of its own, so that the other draws of a seeded test stay the same.
pub(super) fn request_id_key(chance: &ChaCha20Rng) -> [u8; 32] {
    let (mut own, mut key) = (chance.clone(), [0; 32]);
    own.set_stream(1);
    own.fill_bytes(&mut key);
    key
}
