use std::path::Path;

use folkmoot_protocol::ClientId;
use folkmoot_rounds::clock::system_clock;
use folkmoot_service::data_folder::sqlite_url;
use folkmoot_storage::{ClientRepository, Durability, SqlOptions, SqlStorage};

use crate::Failure;

/// Enrols clients in the coordinator's database, past its endpoints. Transactions are not synced, because a measurement
/// begins only afterwards.
pub async fn enrol(data: &Path, token: &str, count: u64) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    let options = SqlOptions { durability: Durability::Normal, ..SqlOptions::default() };
    let storage = SqlStorage::connect(&sqlite_url(data), options).await?;
    let now = system_clock()();
    for number in 0..count {
        // The hash spreads keys and ids over the indexes, as random ones are.
        let hash = blake3::hash(&number.to_le_bytes());
        let id = ClientId::from_random_bytes(*hash.as_bytes().first_chunk().ok_or("a hash has 32 bytes")?);
        storage.enrol(token, &format!("{}=", &hash.to_hex()[..43]), id, now).await?;
    }
    storage.close().await;
    Ok(())
}
