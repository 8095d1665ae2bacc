//! Every repository in the memory of this process, for simulations and tests.
//!
//! One lock guards all data. Each method performs its whole transaction under the lock, without waiting for anything
//! else. It first checks that every change can succeed, and only then makes the changes. So an error leaves no partial
//! changes. The conformance suite ensures that the results equal those of a database.

mod api_key;
mod assignment;
mod audit;
mod check_in;
mod client;
mod cohort;
mod counts;
mod endorsement;
mod evaluation;
mod lease;
mod ledger;
mod model;
mod model_version;
mod participation;
mod pool;
mod population;
mod release;
mod round;
mod secure;
mod session;
mod tables;
mod task;
mod token;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_coordinator::{participation::History, round::SecureStep};
use folkmoot_privacy::ledger::Entry;
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, OrganisationId, PopulationName, RoundId, TaskId,
    messages::ReportRequest,
};

use self::{
    audit::AuditLog,
    evaluation::EvaluationKey,
    lease::Lease,
    pool::Pool,
    tables::{AssignmentTable, ClientTable, RoundTable, TaskTable},
};
use crate::{
    AcceptedUpdate, ApiKeyId, ApiKeyRecord, EvaluationRecord, ModelRecord, ModelVersionRecord,
    PopulationRecord, SessionId, SessionRecord, TokenId, TokenRecord,
};

/// The repositories in the memory of this process. The data is lost when the last clone is dropped.
///
/// A clone is another handle to the same rows.
#[derive(Clone, Default)]
pub struct MemoryStorage {
    state: Arc<Mutex<State>>,
}

/// All rows. Maps that are iterated are ordered by key; the others are only used for lookups.
#[derive(Default)]
struct State {
    organisation_ids: BTreeMap<String, OrganisationId>,
    /// The populations, by organisation. Every organisation has an entry.
    populations: BTreeMap<OrganisationId, BTreeMap<PopulationName, PopulationRecord>>,
    api_keys: BTreeMap<ApiKeyId, ApiKeyRecord>,
    audit_logs: HashMap<OrganisationId, AuditLog>,
    tokens: BTreeMap<TokenId, TokenRecord>,
    sessions: BTreeMap<SessionId, SessionRecord>,
    clients: ClientTable,
    pool: Pool,
    models: HashMap<(OrganisationId, BlobDigest), ModelRecord>,
    tasks: TaskTable,
    versions: HashMap<TaskId, BTreeMap<u64, ModelVersionRecord>>,
    rounds: RoundTable,
    assignments: AssignmentTable,
    /// Accepted updates, by the round that combines them.
    updates: HashMap<RoundId, BTreeMap<AssignmentId, AcceptedUpdate>>,
    reports: HashMap<AssignmentId, ReportRequest>,
    /// The messages of secure aggregation, by round.
    secure: HashMap<RoundId, BTreeMap<(SecureStep, AssignmentId), String>>,
    participations: HashMap<TaskId, BTreeMap<ClientId, History>>,
    evaluations: HashMap<TaskId, BTreeMap<EvaluationKey, EvaluationRecord>>,
    /// The number and the text of the endorsement in force.
    endorsements: HashMap<TaskId, (u64, String)>,
    leases: HashMap<String, Lease>,
    /// The states that the tasks' own selections keep.
    selection_states: HashMap<TaskId, Vec<u8>>,
    ledgers: HashMap<(OrganisationId, PopulationName), Vec<Entry>>,
    /// Blobs of versions that are about to be released, by round.
    unreleased: HashMap<RoundId, Vec<BlobDigest>>,
}

impl MemoryStorage {
    /// Creates an empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Acquires the lock for one transaction.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStorage").finish_non_exhaustive()
    }
}
