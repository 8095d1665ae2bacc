use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use super::{SqlStorage, column::moment, transaction::in_transaction};
use crate::{LeaseRepository, StorageError};

#[async_trait]
impl LeaseRepository for SqlStorage {
    async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StorageError> {
        const UPSERT: &str = "INSERT INTO leases (name, holder, held_until) VALUES ($1, $2, $3) \
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until \
             WHERE leases.holder = excluded.holder OR leases.held_until <= $4";
        in_transaction!(self, |connection| {
            let query = sqlx::query(UPSERT).bind(name).bind(holder).bind(moment(until)?).bind(moment(now)?);
            Ok(query.execute(connection).await?.rows_affected() == 1)
        })
    }

    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            let query =
                sqlx::query("DELETE FROM leases WHERE name = $1 AND holder = $2").bind(name).bind(holder);
            query.execute(connection).await?;
            Ok(())
        })
    }
}
