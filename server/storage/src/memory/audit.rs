use async_trait::async_trait;
use folkmoot_coordinator::audit_log::{Entry, Head};
use folkmoot_protocol::{OrganisationId, Timestamp};

use super::{MemoryStorage, State};
use crate::{
    AuditRepository, StorageError,
    audit::{Act, PRUNED_MAX, actor, last_before, prune_mark},
};

/// The audit log of one organisation.
#[derive(Default)]
pub(super) struct AuditLog {
    /// The number of entries before `entries` that retention removed.
    removed: u64,
    entries: Vec<Entry>,
    head: Head,
}

#[async_trait]
impl AuditRepository for MemoryStorage {
    async fn audit_entries(
        &self,
        organisation_id: OrganisationId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError> {
        let state = self.lock();
        let Some(log) = state.audit_logs.get(&organisation_id) else { return Ok(Vec::new()) };
        let after = usize::try_from(after.saturating_sub(log.removed)).unwrap_or(usize::MAX);
        Ok(log.entries.iter().skip(after).take(limit as usize).cloned().collect())
    }

    async fn audit_head(&self, organisation_id: OrganisationId) -> Result<Head, StorageError> {
        Ok(self.lock().audit_logs.get(&organisation_id).map_or_else(Head::default, |log| log.head))
    }

    async fn prune_audit(
        &self,
        organisation_id: OrganisationId,
        before: Timestamp,
    ) -> Result<u64, StorageError> {
        let mut state = self.lock();
        let Some(log) = state.audit_logs.get_mut(&organisation_id) else { return Ok(0) };
        let oldest = &log.entries[..log.entries.len().min(PRUNED_MAX as usize)];
        let mark = prune_mark();
        let newest_prune = log.entries.iter().rev().find(|entry| entry.record.contains(&mark));
        let Some((last, count)) = last_before(oldest, newest_prune, before)? else { return Ok(0) };
        log.entries.drain(..usize::try_from(count).unwrap_or(usize::MAX).min(log.entries.len()));
        log.removed = last.entries;
        state.record(|| Act::audit_pruned(organisation_id, last))?;
        Ok(count)
    }
}

impl State {
    /// Appends an act to its organisation's log, if somebody acts.
    pub(super) fn record(&mut self, act: impl FnOnce() -> Act) -> Result<(), StorageError> {
        let Some(actor) = actor() else { return Ok(()) };
        let act = act();
        let log = self.audit_logs.entry(act.organisation_id()).or_default();
        let (entry, head) = act.entry(actor, log.head)?;
        log.entries.push(entry);
        log.head = head;
        Ok(())
    }
}
