//! The disclosure decision for every field of log lines.

use super::table::Decision::{self, NotClients, Shown, Versions};

/// The fields of log lines at level `INFO` and above, by name.
pub(super) const LOG_FIELDS: &[(Decision, &[&str])] = &[
    // Rounds count how many clients were drawn and reported; an error may name the assignment that failed.
    (
        Shown,
        &[
            "accepted",
            "aggregators",
            "assignment",
            "client",
            "clients",
            "code",
            "cohort",
            "error",
            "from",
            "reason",
            "round",
            "to",
        ],
    ),
    // Measurements are logged for the operator's own examples only.
    (Versions, &["base_version", "best", "metric", "rolled_back_to", "value", "version", "weights"]),
    (
        NotClients,
        &[
            "by",
            "certificate",
            "changed",
            "channel",
            "component",
            "created",
            "delta",
            "detail",
            "epsilon",
            "evaluation_data",
            "examples",
            "folder",
            "held",
            "keep_token_open",
            "kind",
            "limit",
            "model",
            "model_bytes",
            "name",
            "notice",
            "number",
            "organisation",
            "panic",
            "population",
            "provider",
            "purpose",
            // The number of entries of an audit log that retention removed.
            "removed",
            // Random, or chosen by a proxy of the operator.
            "request_id",
            "revoked",
            "role",
            "rotated",
            "session",
            "sessions",
            "share",
            "since_last",
            "state",
            "task",
            "tasks_cancelled",
            "token",
            "unit",
            "viewers_download",
        ],
    ),
];
