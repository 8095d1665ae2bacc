//! The coordinator's storage, in a database or in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use folkmoot_coordinator::{
    audit_log::{Entry as AuditEntry, Head as AuditHead},
    participation::{History, StartClocks, Waiting},
    round::SecureStep,
    scheduling::{Outstanding, ReportCounts},
    selection::TokenCounts,
    task::{Candidate, TaskFilter, TaskState},
};
use folkmoot_privacy::ledger::Entry;
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, OrganisationId, PopulationName, RoundId, TaskId, Timestamp, UserKey,
    messages::ReportRequest,
};

use crate::{
    AcceptOutcome, AcceptedUpdate, Admission, ApiKeyId, ApiKeyRecord, ApiKeyRepository, AssignmentRecord,
    AssignmentRepository, AuditRepository, CheckInRecord, CheckInRepository, ClientRecord, ClientRepository,
    CloseOutcome, CollectionCharge, DropReason, EndorsementRecord, EndorsementRepository, EnrolOutcome,
    EvaluationRecord, EvaluationRepository, EvaluationSource, LeaseRepository, LedgerRepository, LedgerSum,
    MemoryStorage, ModelRecord, ModelRepository, ModelVersionRecord, ModelVersionRepository,
    ParticipationRepository, PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome,
    RecordOutcome, Rest, RoundCommit, RoundRecord, RoundRepository, SecureRepository, SessionId,
    SessionRecord, SessionRepository, SqlStorage, StorageError, TaskRecord, TaskRepository, TokenAfter,
    TokenRecord, TokenRepository, UpdateTraffic,
};

/// The repositories, in a database or in memory. The methods behave the same in both cases.
///
/// A clone is another handle to the same rows.
#[derive(Clone, Debug)]
pub enum Storage {
    /// In a database.
    Sql(SqlStorage),
    /// In the memory of this process.
    Memory(MemoryStorage),
}

impl From<SqlStorage> for Storage {
    fn from(storage: SqlStorage) -> Self {
        Storage::Sql(storage)
    }
}

impl From<MemoryStorage> for Storage {
    fn from(storage: MemoryStorage) -> Self {
        Storage::Memory(storage)
    }
}

impl Storage {
    /// Returns the database, for statistics that only a database provides.
    ///
    /// # Errors
    /// [`StorageError::NoDatabase`] if this storage is in memory.
    pub fn database(&self) -> Result<&SqlStorage, StorageError> {
        match self {
            Storage::Sql(storage) => Ok(storage),
            Storage::Memory(_) => Err(StorageError::NoDatabase),
        }
    }

    /// Returns the number of transactions that can write at the same time, at least 1. Others wait, first come, first
    /// served.
    pub fn writers(&self) -> usize {
        match self {
            Storage::Sql(storage) => storage.writers(),
            Storage::Memory(_) => 1,
        }
    }
}

/// Implements repositories by delegating to the backend. The macro's input lists each method with its arguments and
/// result.
macro_rules! ask {
    ($($repository:ident { $($method:ident($($argument:ident: $taken:ty),*) -> $returned:ty;)* })*) => {
        $(#[async_trait]
        impl $repository for Storage {
            $(async fn $method(&self $(, $argument: $taken)*) -> Result<$returned, StorageError> {
                match self {
                    Storage::Sql(storage) => storage.$method($($argument),*).await,
                    Storage::Memory(storage) => storage.$method($($argument),*).await,
                }
            })*
        })*
    };
}

ask! {
    PopulationRepository {
        ensure_organisation(name: &str, id_if_new: OrganisationId, now: Timestamp) -> OrganisationId;
        ensure_population(organisation_id: OrganisationId, name: &PopulationName, now: Timestamp)
            -> PopulationRecord;
        population(organisation_id: OrganisationId, name: &PopulationName) -> Option<PopulationRecord>;
        set_population_privacy(organisation_id: OrganisationId, name: &PopulationName, change: &PrivacyChange<'_>)
            -> PrivacyOutcome;
        populations(organisation_id: OrganisationId) -> Vec<PopulationRecord>;
    }
    ApiKeyRepository {
        create_api_key(key: &ApiKeyRecord) -> ();
        api_key(id: &str) -> Option<ApiKeyRecord>;
        api_keys(organisation_id: OrganisationId) -> Vec<ApiKeyRecord>;
        revoke_api_key(organisation_id: OrganisationId, id: &str, now: Timestamp) -> ();
        rotate_api_key(organisation_id: OrganisationId, id: &str, secret_hash: [u8; 32], previous_until: Timestamp, now: Timestamp)
            -> ApiKeyRecord;
        record_key_uses(uses: &[(ApiKeyId, Timestamp)]) -> ();
    }
    SessionRepository {
        create_session(session: &SessionRecord) -> ();
        session(id: &str) -> Option<SessionRecord>;
        claim_renewal(id: &str, due: Timestamp, next: Timestamp) -> bool;
        renew_session(session: &SessionRecord, claim: Timestamp) -> ();
        delete_session(id: &str) -> ();
        open_sessions(organisation_id: OrganisationId, now: Timestamp, limit: u32) -> Vec<SessionRecord>;
        end_session(organisation_id: OrganisationId, id: &str) -> ();
        end_sessions_of_person(organisation_id: OrganisationId, provider: &str, subject: &str) -> u64;
        record_session_uses(uses: &[(SessionId, Timestamp)]) -> ();
        record_refused_person(organisation_id: OrganisationId, person: &str) -> ();
    }
    TokenRepository {
        create_token(token: &TokenRecord) -> ();
        token(id: &str) -> Option<TokenRecord>;
        tokens(organisation_id: OrganisationId) -> Vec<TokenRecord>;
        revoke_token(organisation_id: OrganisationId, id: &str, now: Timestamp) -> ();
        revoke_token_and_clients(organisation_id: OrganisationId, id: &str, now: Timestamp) -> u64;
    }
    ClientRepository {
        enrol_user(token_id: &str, user_key: Option<UserKey>, public_key: &str, id_if_new: ClientId, now: Timestamp)
            -> EnrolOutcome;
        client(id: ClientId) -> Option<ClientRecord>;
        client_count(organisation_id: OrganisationId, population: &PopulationName) -> u64;
        has_clients(organisation_id: OrganisationId, population: &PopulationName, count: u64) -> bool;
        clients_of_token(organisation_id: OrganisationId, token_id: &str, limit: u32, before: Option<ClientId>)
            -> Vec<ClientRecord>;
        revoke_client(organisation_id: OrganisationId, id: ClientId, token: TokenAfter, now: Timestamp)
            -> ClientRecord;
    }
    CheckInRepository {
        check_in(check_in: &CheckInRecord) -> bool;
        withdraw_check_in(client_id: ClientId) -> bool;
        withdraw_offer(client_id: ClientId, expires_at: Timestamp) -> bool;
        waiting(organisation_id: OrganisationId, population: &PopulationName, now: Timestamp)
            -> Vec<Candidate>;
        candidates(client_ids: &[ClientId]) -> Vec<Candidate>;
        delete_expired_check_ins(now: Timestamp) -> u64;
    }
    ModelRepository {
        create_model(model: &ModelRecord) -> ();
        model(organisation_id: OrganisationId, model: BlobDigest) -> Option<ModelRecord>;
        models(organisation_id: OrganisationId, limit: u32) -> Vec<ModelRecord>;
    }
    TaskRepository {
        create_task(task: &TaskRecord, version: &ModelVersionRecord) -> ();
        task(organisation_id: OrganisationId, id: TaskId) -> Option<TaskRecord>;
        task_of_any_organisation(id: TaskId) -> Option<TaskRecord>;
        tasks(organisation_id: OrganisationId, filter: &TaskFilter, limit: u32, before: Option<TaskId>)
            -> Vec<TaskRecord>;
        admit_task(task: &TaskRecord, version: &ModelVersionRecord, admission: &Admission<'_>) -> ();
        set_task_state(id: TaskId, state: TaskState, revision: u64) -> ();
        start_task(task: &TaskRecord, state: TaskState, admission: &Admission<'_>) -> ();
        tasks_to_drive() -> Vec<TaskId>;
    }
    ModelVersionRepository {
        model_version(task_id: TaskId, number: u64) -> Option<ModelVersionRecord>;
        release_version(organisation_id: OrganisationId, version: &ModelVersionRecord) -> ();
        latest_model_version(task_id: TaskId) -> Option<ModelVersionRecord>;
        model_versions(task_id: TaskId, limit: u32, before: Option<u64>) -> Vec<ModelVersionRecord>;
        every_version(task_id: TaskId, stride: u64) -> Vec<ModelVersionRecord>;
    }
    SecureRepository {
        record_secure(id: AssignmentId, step: SecureStep, message: &str, now: Timestamp) -> RecordOutcome;
        secure_messages(round_id: RoundId, step: SecureStep) -> Vec<(AssignmentId, String)>;
        secure_senders(round_id: RoundId, step: SecureStep) -> Vec<AssignmentId>;
        secure_messages_of(ids: &[AssignmentId], step: SecureStep) -> Vec<(AssignmentId, String)>;
        step_counts(round_id: RoundId, step: SecureStep) -> ReportCounts;
        blame(id: AssignmentId, now: Timestamp) -> ClientId;
        close_step(record: &RoundRecord, step: SecureStep, now: Timestamp) -> ();
    }
    RoundRepository {
        open_round(record: &RoundRecord) -> ();
        unfinished_rounds(task_id: TaskId) -> Vec<RoundRecord>;
        unfinished_round(task_id: TaskId) -> Option<RoundRecord>;
        round(organisation_id: OrganisationId, id: RoundId) -> Option<RoundRecord>;
        rounds(task_id: TaskId, limit: u32, before: Option<u64>) -> Vec<RoundRecord>;
        round_counts(task_id: TaskId) -> (u64, u64);
        abandoned_in_a_row(task_id: TaskId, after_round: u64) -> (u64, u64);
        first_round_at(task_id: TaskId) -> Option<Timestamp>;
        assign_and_keep(record: &RoundRecord, assignments: &[AssignmentRecord], clocks: &StartClocks, selection_state: Option<&[u8]>)
            -> ();
        selection_state(task_id: TaskId) -> Vec<u8>;
        close_reporting(record: &RoundRecord, rest: Rest, now: Timestamp) -> Vec<AcceptedUpdate>;
        commit_round(commit: &RoundCommit<'_>) -> ();
        store_phase(record: &RoundRecord) -> ();
        abandon_round(record: &RoundRecord, now: Timestamp) -> ();
    }
    AssignmentRepository {
        assignment(id: AssignmentId) -> Option<AssignmentRecord>;
        outstanding_assignment(client_id: ClientId) -> Option<AssignmentRecord>;
        assignments(round_id: RoundId) -> Vec<AssignmentRecord>;
        accept_update(update: &AcceptedUpdate) -> AcceptOutcome;
        drop_assignment(id: AssignmentId, reason: &DropReason, now: Timestamp) -> CloseOutcome;
        report_counts(round_id: RoundId) -> ReportCounts;
        flow_counts(task_id: TaskId, round_id: RoundId) -> ReportCounts;
        flow_tokens(task_id: TaskId, round_id: RoundId) -> TokenCounts;
        outstanding(task_id: TaskId) -> Vec<Outstanding>;
        needed_logs() -> BTreeSet<(RoundId, AssignmentId)>;
        accepted_updates(round_id: RoundId) -> Vec<AcceptedUpdate>;
        traffic(round_id: RoundId) -> Vec<UpdateTraffic>;
        record_report(id: AssignmentId, report: &ReportRequest, now: Timestamp) -> ();
        report(id: AssignmentId) -> Option<ReportRequest>;
    }
    ParticipationRepository {
        waiting_for(organisation_id: OrganisationId, population: &PopulationName, task_id: TaskId, now: Timestamp)
            -> Vec<Waiting>;
        participations(task_id: TaskId) -> Vec<(ClientId, History)>;
    }
    EvaluationRepository {
        record_evaluation(evaluation: &EvaluationRecord) -> ();
        end_evaluation(record: &RoundRecord, evaluations: &[EvaluationRecord]) -> ();
        evaluations(task_id: TaskId) -> Vec<EvaluationRecord>;
        last_evaluated(task_id: TaskId, source: EvaluationSource) -> Option<u64>;
        evaluations_at(task_id: TaskId, version: u64) -> Vec<EvaluationRecord>;
        evaluation_slices(task_id: TaskId) -> Vec<EvaluationRecord>;
    }
    LeaseRepository {
        acquire_lease(name: &str, holder: &str, now: Timestamp, until: Timestamp) -> bool;
        release_lease(name: &str, holder: &str) -> ();
    }
    EndorsementRepository {
        publish_endorsement(endorsement: &EndorsementRecord) -> ();
        endorsement(task_id: TaskId) -> Option<String>;
    }
    AuditRepository {
        audit_entries(organisation_id: OrganisationId, after: u64, limit: u32) -> Vec<AuditEntry>;
        audit_head(organisation_id: OrganisationId) -> AuditHead;
        prune_audit(organisation_id: OrganisationId, before: Timestamp) -> u64;
    }
    LedgerRepository {
        ledger_entries(organisation_id: OrganisationId, population: &PopulationName, after: u64, limit: u32)
            -> Vec<Entry>;
        ledger_sum(organisation_id: OrganisationId, population: &PopulationName) -> LedgerSum;
        charge_collection(charge: &CollectionCharge<'_>) -> ();
        note_unreleased(record: &RoundRecord, blobs: &[BlobDigest]) -> ();
        unreleased(round_id: RoundId) -> Vec<BlobDigest>;
        forget_unreleased(round_id: RoundId, blobs: &[BlobDigest]) -> ();
    }
}
