use super::table::{Decision::NotClients, Row};

/// Every field that only edge aggregators read. They have the updates themselves.
pub(super) const FIELDS_AT_THE_EDGE: &[Row] = &[
    ("AdmissionView", NotClients, &["answer", "norm_max"]),
    ("AggregatorWorkView", NotClients, &["ended", "wanted"]),
    ("HeldAssignmentView", NotClients, &["base_version", "is_held", "round_id", "task_id"]),
    ("HeldTaskView", NotClients, &["description", "schema"]),
    ("UploadStatus", NotClients, &["received_bytes", "state"]),
    ("WantedSumView", NotClients, &["round_id", "task_id", "updates"]),
    ("WantedUpdateView", NotClients, &["assignment_id", "factor_bits"]),
];
