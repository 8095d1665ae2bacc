#![doc = include_str!("../README.md")]
// Tests may use plain casts: their numbers are visible and small.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod api_key;
mod assignment;
pub mod audit;
mod check_in;
mod client;
mod endorsement;
mod error;
mod evaluation;
mod lease;
mod ledger;
mod memory;
mod model;
mod model_version;
mod monitor;
mod organisation;
mod participation;
mod population;
mod round;
mod secure;
mod session;
mod sql;
mod storage;
mod task;
mod token;
mod token_id;

pub use api_key::{ApiKeyId, ApiKeyRecord, ApiKeyRepository, KeyRotation};
pub use assignment::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CloseOutcome,
    DropReason, HeldUpdate, PartialSumAnswer, PartialSumRecord, UpdateTraffic,
};
pub use audit::AuditRepository;
pub use check_in::{CheckInRecord, CheckInRepository};
pub use client::{ClientRecord, ClientRepository, EnrolOutcome, TokenAfter};
pub use endorsement::{EndorsementRecord, EndorsementRepository};
pub use error::StorageError;
pub use evaluation::{EvaluationRecord, EvaluationRepository, EvaluationSource};
pub use lease::LeaseRepository;
pub use ledger::{CollectionCharge, LedgerRepository, LedgerSum};
pub use memory::MemoryStorage;
pub use model::{ModelRecord, ModelRepository};
pub use model_version::{Ancestor, ModelVersionRecord, ModelVersionRepository, VersionMaking};
pub use monitor::{
    HourRecord, KindOutcome, LaneRecord, LeaseRecord, PulseRecord, SITES_MAX, SiteFailure, SiteRecord,
    SiteSoftware, VersionTraffic, WatchedTask, WorkRecord,
};
pub use organisation::{
    ClosedOrganisation, Holdings, OrganisationRecord, SYSTEM_ORGANISATION, TenancyRecord, UsageRecord,
};
pub use participation::ParticipationRepository;
pub use population::{
    PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome, ROLLOUTS_OFFERED_MAX,
    RolloutChange, RolloutRecord,
};
pub use round::{Leave, Rest, RoundCommit, RoundRecord, RoundRepository};
pub use secure::{RecordOutcome, SecureRepository};
pub use session::{PersonRecord, RenewalRecord, SessionHolder, SessionId, SessionRecord, SessionRepository};
pub use sql::{
    BlobNames, ColumnKind, DatabasePlace, DatabaseReader, Durability, KeptVersions, MigrationState,
    OpenUpdate, SchemaVersion, SharedNonces, SqlOptions, SqlStorage, TableColumn, TableSchema, TableValue,
    TableWriter,
};
pub use storage::Storage;
pub use task::{Admission, TaskRecord, TaskRepository};
pub use token::{TokenRecord, TokenRepository};
pub use token_id::TokenId;
