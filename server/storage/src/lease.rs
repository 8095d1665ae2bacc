use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use crate::StorageError;

/// Stores leases: time-bound claims that let only one of several processes advance something at a time.
#[async_trait]
pub trait LeaseRepository {
    /// Acquires or renews the lease `name` for `holder` until `until`. Returns `false` if another holder has the lease
    /// at `now`.
    async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StorageError>;

    /// Releases the lease, if `holder` still has it.
    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError>;
}
