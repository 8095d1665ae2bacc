use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use crate::StorageError;

/// Time-bound claims, so that of several processes only one advances a thing at a time.
#[async_trait]
pub trait LeaseRepository {
    /// Takes or renews the lease `name` for `holder` until `until`; `false` if another holds it at `now`.
    async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StorageError>;

    /// Gives the lease back, if `holder` still has it.
    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError>;
}
