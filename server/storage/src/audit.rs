//! The audit log: each act of an operator, stored in the transaction of the act itself.

mod populations;

use async_trait::async_trait;
use folkmoot_coordinator::{
    audit_log::{Chain, Change, Entry, Head, Record},
    task::TaskState,
};
use folkmoot_protocol::{BlobDigest, OrganisationId, Role, TaskId, Timestamp};

use crate::{
    ApiKeyRecord, ClientRecord, ClosedOrganisation, EndorsementRecord, ModelRecord, ModelVersionRecord,
    OrganisationRecord, SessionHolder, SessionRecord, StorageError, TaskRecord, TokenAfter, TokenRecord,
};

tokio::task_local! {
    static ACTOR: Actor;
}

/// The maximum length of a value in an entry, in characters. Longer values are cut.
const VALUE_CHARACTERS_MAX: usize = 500;

/// The author of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The author's credential, for example `key 0123456789abcdef` or `oidc:example:ada (Ada Lovelace)`.
    pub by: String,
    /// The network address of the request; `None` for a command on the coordinator's machine.
    pub from: Option<String>,
    /// The time of the request.
    pub at: Timestamp,
}

/// Runs `work` on behalf of `actor`: every act that it stores is recorded in the audit log of its organisation.
///
/// The actor belongs to the task that runs `work`. Acts outside, for example by a driver, are the coordinator's own and
/// are not recorded.
pub async fn on_behalf_of<F: Future>(actor: Actor, work: F) -> F::Output {
    ACTOR.scope(actor, work).await
}

/// Returns the actor on whose behalf the current task runs.
pub(crate) fn actor() -> Option<Actor> {
    ACTOR.try_with(Clone::clone).ok()
}

/// Reads audit logs. Acts are appended by the methods that perform them.
#[async_trait]
pub trait AuditRepository {
    /// Lists at most `limit` entries after number `after`, oldest first.
    async fn audit_entries(
        &self,
        organisation_id: OrganisationId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError>;

    /// Returns the head of the organisation's log.
    async fn audit_head(&self, organisation_id: OrganisationId) -> Result<Head, StorageError>;

    /// Removes the oldest entries, up to the first one that is not older than `before`, at most [`PRUNED_MAX`]. Appends an
    /// entry with the number and the digest of the last removed one, on behalf of the current actor. Returns the number of
    /// removed entries; if there are none, nothing is appended.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] if the oldest entries are not a chain that begins with entry 1, or after the last removed one.
    /// Nothing is removed then.
    async fn prune_audit(
        &self,
        organisation_id: OrganisationId,
        before: Timestamp,
    ) -> Result<u64, StorageError>;
}

/// The maximum number of entries of an audit log that are removed in one transaction.
pub const PRUNED_MAX: u32 = 5_000;

/// Returns the first of the oldest entries if it is older than `before`.
pub(crate) fn first_due(oldest: &[Entry], before: Timestamp) -> Result<Option<Record>, StorageError> {
    let first = oldest.first().map(record_of).transpose()?;
    Ok(first.filter(|record| record.at < before))
}

/// Returns the text in the JSON of an entry about removed entries, and of no other: in a text of an operator, quotation marks
/// have a backslash.
pub(crate) fn prune_mark() -> String {
    format!("\"action\":\"{}\"", Record::PRUNE)
}

fn record_of(entry: &Entry) -> Result<Record, StorageError> {
    serde_json::from_str(&entry.record)
        .map_err(|error| StorageError::Corrupt { what: "audit entry", detail: error.to_string() })
}

/// Returns the last of the oldest entries that are all older than `before`, and their number. Verifies that they form a chain
/// that begins with entry 1, or after the entry that `newest_prune` says was removed last.
pub(crate) fn last_before(
    oldest: &[Entry],
    newest_prune: Option<&Entry>,
    before: Timestamp,
) -> Result<Option<(Head, u64)>, StorageError> {
    let corrupt = |detail: String| StorageError::Corrupt { what: "audit entry", detail };
    let removed = newest_prune.map(|entry| {
        record_of(entry)?
            .removed()
            .ok_or_else(|| corrupt("an entry about a removal does not say what was removed".into()))
    });
    let mut chain = removed.transpose()?.map(Chain::after).unwrap_or_default();
    let mut count = 0;
    for entry in oldest {
        let record = record_of(entry)?;
        if record.at >= before {
            break;
        }
        chain.follow(entry, &record).map_err(|error| corrupt(error.to_string()))?;
        count += 1;
    }
    Ok((count > 0).then(|| (chain.head(), count)))
}

/// An act, before it has a place in a log.
pub(crate) struct Act {
    organisation_id: OrganisationId,
    action: &'static str,
    subject: String,
    changes: Vec<Change>,
}

impl Act {
    pub(crate) fn new(organisation_id: OrganisationId, action: &'static str, subject: impl ToString) -> Self {
        Self { organisation_id, action, subject: subject.to_string(), changes: Vec::new() }
    }

    /// Adds a property that the act gave to a new object.
    fn with(self, what: &str, after: impl ToString) -> Self {
        self.changed(what, None, Some(after.to_string()))
    }

    /// Adds a property that the act changed.
    fn changed(mut self, what: &str, before: Option<String>, after: Option<String>) -> Self {
        let cut = |value: String| value.chars().take(VALUE_CHARACTERS_MAX).collect();
        self.changes.push(Change { what: what.to_owned(), before: before.map(cut), after: after.map(cut) });
        self
    }

    pub(crate) fn organisation_id(&self) -> OrganisationId {
        self.organisation_id
    }

    /// Makes the entry that follows `head`.
    pub(crate) fn entry(self, actor: Actor, head: Head) -> Result<(Entry, Head), StorageError> {
        let record = Record {
            organisation_id: self.organisation_id,
            number: head.entries + 1,
            previous: head.digest,
            at: actor.at,
            by: actor.by,
            from: actor.from,
            action: self.action.to_owned(),
            subject: self.subject,
            changes: self.changes,
        };
        let text = serde_json::to_string(&record)
            .map_err(|error| StorageError::Corrupt { what: "audit entry", detail: error.to_string() })?;
        let digest = BlobDigest::of(text.as_bytes());
        let next = Head { entries: record.number, digest: Some(digest) };
        Ok((Entry { record: text, digest }, next))
    }

    pub(crate) fn audit_pruned(organisation_id: OrganisationId, last: Head) -> Self {
        let act = Self::new(organisation_id, Record::PRUNE, organisation_id);
        Self { changes: Record::pruned(last), ..act }
    }

    pub(crate) fn organisation_created(organisation: &OrganisationRecord) -> Self {
        Self::new(organisation.id, "organisation.create", organisation.id).with("name", &organisation.name)
    }

    pub(crate) fn quotas_set(id: OrganisationId, before: String, after: String) -> Self {
        Self::new(id, "organisation.set_quotas", id).changed("quotas", Some(before), Some(after))
    }

    pub(crate) fn organisation_closed(id: OrganisationId, closed: ClosedOrganisation) -> Self {
        Self::new(id, "organisation.close", id)
            .with("api_keys_revoked", closed.api_keys)
            .with("tokens_revoked", closed.tokens)
            .with("clients_revoked", closed.clients)
    }

    pub(crate) fn api_key_created(key: &ApiKeyRecord) -> Self {
        let act = Self::new(key.organisation_id, "api_key.create", &key.id)
            .with("name", &key.name)
            .with("role", key.role.name());
        match key.expires_at {
            Some(at) => act.with("expires_at", at.0),
            None => act,
        }
    }

    pub(crate) fn api_key_rotated(key: &ApiKeyRecord, previous_until: Timestamp) -> Self {
        Self::new(key.organisation_id, "api_key.rotate", &key.id)
            .with("name", &key.name)
            .with("previous_until", previous_until.0)
    }

    pub(crate) fn session_created(organisation_id: OrganisationId, session: &SessionRecord) -> Self {
        let act = Self::new(organisation_id, "session.create", &session.id);
        match &session.holder {
            SessionHolder::ApiKey(_) => act,
            SessionHolder::Person(person) => {
                act.with("role", person.role.name()).with("expires_at", session.expires_at.0)
            }
        }
    }

    pub(crate) fn session_ended(organisation_id: OrganisationId, session: &SessionRecord) -> Self {
        let act = Self::new(organisation_id, "session.end", &session.id);
        match &session.holder {
            SessionHolder::ApiKey(id) => act.with("api_key", id),
            SessionHolder::Person(person) => act
                .with("provider", &person.provider)
                .with("subject", &person.subject)
                .with("name", &person.name),
        }
    }

    pub(crate) fn persons_sessions_ended(
        organisation_id: OrganisationId,
        provider: &str,
        subject: &str,
        sessions: u64,
    ) -> Self {
        Self::new(organisation_id, "session.end_all", subject)
            .with("provider", provider)
            .with("sessions_ended", sessions)
    }

    pub(crate) fn session_role_changed(
        organisation_id: OrganisationId,
        id: &str,
        before: Role,
        role: Role,
    ) -> Self {
        Self::new(organisation_id, "session.change_role", id).changed(
            "role",
            Some(before.name().to_owned()),
            Some(role.name().to_owned()),
        )
    }

    pub(crate) fn person_refused(organisation_id: OrganisationId, person: &str) -> Self {
        Self::new(organisation_id, "session.refuse", person).with("reason", "no group with a role")
    }

    pub(crate) fn token_created(token: &TokenRecord) -> Self {
        let limit = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
        let act = Self::new(token.organisation_id, "token.create", &token.id)
            .with("population", &token.population)
            .with("uses_max", limit(token.uses_max))
            .with("expires_at", limit(token.expires_at.map(|at| at.0)))
            .with("names_user", token.user_key.is_some())
            .with("jwt_keys", token.jwt_keys.len());
        match &token.name {
            Some(name) => act.with("name", name),
            None => act,
        }
    }

    pub(crate) fn client_revoked(client: &ClientRecord, token: TokenAfter) -> Self {
        let mut act = Self::new(client.organisation_id, "client.revoke", client.id);
        if let Some(site) = &client.site {
            act = act.with("site", site);
        }
        match (&client.token_id, token) {
            (Some(id), TokenAfter::Closed) => act.with("token_closed", id),
            _ => act,
        }
    }

    pub(crate) fn tokens_clients_revoked(organisation_id: OrganisationId, id: &str, clients: u64) -> Self {
        Self::new(organisation_id, "token.revoke_clients", id).with("clients_revoked", clients)
    }

    pub(crate) fn state_set(
        organisation_id: OrganisationId,
        id: TaskId,
        before: &str,
        after: TaskState,
    ) -> Self {
        let (before, after) = (before.to_owned(), after.name().to_owned());
        Self::new(organisation_id, "task.set_state", id).changed("state", Some(before), Some(after))
    }

    pub(crate) fn model_created(model: &ModelRecord) -> Self {
        Self::new(model.organisation_id, "model.create", model.model).with("bytes", model.model_bytes)
    }

    pub(crate) fn task_created(task: &TaskRecord) -> Self {
        let act = Self::new(task.organisation_id, "task.create", task.id)
            .with("name", &task.description.name)
            .with("population", &task.description.population)
            .with("model", task.model)
            .with("plan", task.plan)
            .with("state", task.state.name());
        let act = match task.evaluation_data {
            Some(data) => act.with("evaluation_data", data),
            None => act,
        };
        let description = &task.description;
        let own = [description.aggregator.component(), description.finalizer.finalizer().err()];
        let own: Vec<String> = own.into_iter().flatten().map(|one| one.component.to_string()).collect();
        if own.is_empty() { act } else { act.with("components", own.join(", ")) }
    }

    pub(crate) fn endorsed(endorsement: &EndorsementRecord) -> Self {
        Self::new(endorsement.organisation_id, "task.endorse", endorsement.task_id)
            .with("sequence", endorsement.sequence)
            .with("public_key", &endorsement.public_key)
    }

    pub(crate) fn rolled_back(organisation_id: OrganisationId, version: &ModelVersionRecord) -> Self {
        Self::new(organisation_id, "task.roll_back", version.task_id)
            .with("version", version.number)
            .with("weights", version.weights)
    }
}

#[cfg(test)]
#[path = "../tests/unit/audit.rs"]
mod tests;
