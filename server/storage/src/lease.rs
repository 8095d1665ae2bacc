use std::future::Future;

use folkmoot_protocol::Timestamp;

use crate::StorageError;

/// Time-bound claims, so that of several processes only one advances a thing at a time.
pub trait LeaseRepository {
    /// Takes or renews the lease `name` for `holder` until `until`; `false` if another holds it at `now`.
    fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> impl Future<Output = Result<bool, StorageError>> + Send;

    /// Gives the lease back, if `holder` still has it.
    fn release_lease(
        &self,
        name: &str,
        holder: &str,
    ) -> impl Future<Output = Result<(), StorageError>> + Send;
}
