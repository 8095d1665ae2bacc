//! The audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPageView {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntryView>,
    /// The number of entries so far, including entries that retention has removed.
    pub entry_count: u64,
    /// The digest of the last entry of the whole log; null if the log is empty.
    pub head: Option<String>,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntryView {
    /// The entry as JSON text: `organisation_id`, `number`, `previous` (the digest of the entry before it), `at` (in
    /// milliseconds since 1970), `by`, `from`, `action`, `subject`, and `changes`.
    pub record: String,
    /// The SHA-256 of exactly this text, in hexadecimal digits.
    pub digest: String,
}
