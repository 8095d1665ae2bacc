//! Another organisation, whose clients send more than its quota permits.

use ed25519_dalek::SigningKey;
use folkmoot_coordinator::tenancy::Quotas;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, signing::encode_public_key};
use folkmoot_rounds::clock::system_clock;
use folkmoot_service::host::Host;
use folkmoot_storage::{ClientRepository, PopulationRepository, TokenRecord, TokenRepository};

use crate::Failure;

/// The number of clients. Each checks in once a second.
pub const CLIENTS: usize = 1_000;
/// The organisation's quota: a tenth of what its clients send.
const REQUESTS_PER_SECOND_MAX: u32 = 100;

/// Stores the organisation with its quota and clients. Their keys and ids are derived from their numbers.
pub async fn settle(host: &Host) -> Result<(), Failure> {
    let (coordinator, now) = (&host.coordinator, system_clock()());
    let storage = &coordinator.storage;
    let id = OrganisationId::from_random_bytes([9; 16]);
    let id = storage.ensure_organisation("another", id, now).await?;
    let population: PopulationName = "another".parse()?;
    storage.ensure_population(id, &population, now).await?;
    let token = TokenRecord::unlimited("0909090909090909", id, population, now);
    storage.create_token(&token).await?;
    for index in 0..CLIENTS {
        storage.enrol(&token.id, &encode_public_key(&key(index)), client(index), now).await?;
    }
    let quotas = Quotas { requests_per_second_max: Some(REQUESTS_PER_SECOND_MAX), ..Quotas::default() };
    storage.database()?.set_quotas(id, &quotas).await?;
    Ok(coordinator.tenants.settle(storage, now).await?)
}

/// Returns the key of a client.
pub fn key(index: usize) -> SigningKey {
    SigningKey::from_bytes(&numbered(index))
}

/// Returns the id of a client.
pub fn client(index: usize) -> ClientId {
    ClientId::from_random_bytes(numbered(index))
}

fn numbered<const N: usize>(index: usize) -> [u8; N] {
    let mut bytes = [9; N];
    bytes[..8].copy_from_slice(&(index as u64).to_le_bytes());
    bytes
}
