use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use super::{MemoryStorage, counts::check_moment};
use crate::{LeaseRepository, StorageError};

/// The holder of a lease, and when it expires.
pub(super) struct Lease {
    holder: String,
    held_until: Timestamp,
}

#[async_trait]
impl LeaseRepository for MemoryStorage {
    async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StorageError> {
        check_moment(until)?;
        check_moment(now)?;
        let mut state = self.lock();
        let held = state.leases.get(name);
        if held.is_some_and(|lease| lease.holder != holder && lease.held_until > now) {
            return Ok(false);
        }
        state.leases.insert(name.to_owned(), Lease { holder: holder.to_owned(), held_until: until });
        Ok(true)
    }

    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        let mut state = self.lock();
        if state.leases.get(name).is_some_and(|lease| lease.holder == holder) {
            state.leases.remove(name);
        }
        Ok(())
    }
}
