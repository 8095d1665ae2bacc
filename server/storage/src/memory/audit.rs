use async_trait::async_trait;
use folkmoot_coordinator::audit_log::{Entry, Head};
use folkmoot_protocol::OrganisationId;

use super::{MemoryStorage, State};
use crate::{
    AuditRepository, StorageError,
    audit::{Act, actor},
};

/// The audit log of one organisation.
#[derive(Default)]
pub(super) struct AuditLog {
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
        let entries = state.audit_logs.get(&organisation_id).map_or(&[][..], |log| &log.entries);
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(entries.iter().skip(after).take(limit as usize).cloned().collect())
    }

    async fn audit_head(&self, organisation_id: OrganisationId) -> Result<Head, StorageError> {
        Ok(self.lock().audit_logs.get(&organisation_id).map_or_else(Head::default, |log| log.head))
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
