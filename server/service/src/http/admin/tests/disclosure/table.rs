//! The disclosure decision for every response field that a key can read. A new field needs a line here.

use Decision::{Clients, NotClients, OfPrivateTask, Shown, Versions, Withheld};

/// The decision for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// An exact figure that depends on clients' examples. It is null if a private task runs or has run in the
    /// population.
    Withheld,
    /// A figure that a task's clients measured or sent. For a private task it is null or not counted.
    OfPrivateTask,
    /// Information about which clients take part and when. It is shown, and the privacy statement says so, under "Not
    /// protected" and "Shown".
    Shown,
    /// A figure computed from released versions and the ledger, and so covered by the epsilon of these versions.
    Versions,
    /// A container of other fields in this table.
    Clients,
    /// Information about tasks, models, keys or the process. It does not depend on any client's examples.
    NotClients,
}

/// A schema, a decision, and fields.
type Row = (&'static str, Decision, &'static [&'static str]);

/// Every field of every JSON response.
pub(super) const FIELDS: &[Row] = &[
    ("ApiKeyView", NotClients, &["created_at", "expires_at", "id", "name", "revoked_at", "role"]),
    // The number of clients that an operator revoked is the act, and no client's example.
    ("AuditEntryView", NotClients, &["digest", "record"]),
    ("AuditPageView", NotClients, &["entries", "entry_count", "head"]),
    ("CheckTaskView", NotClients, &["command", "description", "faults", "notes", "toml"]),
    ("ClassEvaluationView", Clients, &["evaluation"]),
    ("ClassEvaluationView", Withheld, &["classes"]),
    ("ClassMetrics", Withheld, &["class", "f1", "label_count", "precision", "predicted_count", "recall"]),
    ("ClassReport", Withheld, &["classes", "confusion"]),
    ("ClassTrafficView", OfPrivateTask, &["codec", "network"]),
    ("ClassTrafficView", Clients, &["traffic"]),
    ("ClientView", Shown, &["enrolled_at", "id", "population", "revoked_at", "token_id"]),
    ("ClientsView", Withheld, &["example_counts", "training_speed"]),
    ("ClientsView", Shown, &["attributes", "enrolled", "revoked", "sdk_versions", "training", "waiting"]),
    ("ClientsView", NotClients, &["group_min", "withheld"]),
    ("ClosedOrganisationView", Shown, &["clients_revoked"]),
    ("ClosedOrganisationView", NotClients, &["api_keys_revoked", "id", "tasks_cancelled", "tokens_revoked"]),
    ("CreatedApiKey", NotClients, &["api_key", "record"]),
    ("CreatedOrganisation", NotClients, &["first_key", "organisation"]),
    ("CreatedToken", NotClients, &["record", "token"]),
    ("DroppedView", Shown, &["count", "kind", "reason"]),
    ("EntryView", Clients, &["settings", "terms"]),
    ("EndorsedPlan", NotClients, &["cohort_min", "digest", "protection_level"]),
    ("Endorsement", NotClients, &["public_key", "signature", "statement"]),
    ("EndorsementView", NotClients, &["endorsement", "model", "plans", "task_id"]),
    (
        "EntryView",
        Versions,
        &[
            "digest",
            "noise_multiplier",
            "participation",
            "population",
            "previous",
            "relation",
            "at",
            "kind",
            "round_id",
            "sequence",
            "task_id",
            "version",
        ],
    ),
    ("EvaluationDataView", NotClients, &["evaluation_data", "example_count"]),
    ("EvaluationView", Withheld, &["example_count"]),
    ("EvaluationView", OfPrivateTask, &["accuracy", "mean_loss", "metrics", "metrics_missing"]),
    ("EvaluationView", Clients, &["slices"]),
    ("EvaluationView", Shown, &["client_count"]),
    // A private task is evaluated on the operator's examples only.
    ("EvaluationView", Versions, &["created_at", "is_best", "metric", "source", "version"]),
    ("FaultView", NotClients, &["field", "line", "message", "remedy"]),
    ("HourView", Shown, &["abandoned", "committed", "since", "updates"]),
    ("HourView", OfPrivateTask, &["upload_bytes"]),
    ("InputView", NotClients, &["length_axis", "name", "shape"]),
    ("LaneView", Withheld, &["closed_at", "download_bytes", "training_ms"]),
    ("LaneView", OfPrivateTask, &["upload_bytes"]),
    ("LaneView", Shown, &["assigned_at", "deadline", "kind", "reason", "status"]),
    ("LeaseView", NotClients, &["held_until", "holder", "name"]),
    // `every_line_of_the_log_is_decided` checks the contents of log lines.
    ("LogLineView", Shown, &["at", "fields", "level", "message", "target"]),
    (
        "ModelGraphView",
        NotClients,
        &[
            "forward_flops",
            "input_shape",
            "inputs",
            "model_bytes",
            "nodes",
            "operators",
            "output_shape",
            "parameter_count",
            "parameters",
            "training_flops",
        ],
    ),
    ("ModelPartsView", NotClients, &["data_files", "pieces"]),
    ("ModelPieceView", NotClients, &["bytes", "end", "file", "from", "start"]),
    ("ModelSummary", NotClients, &["created_at", "model", "model_bytes", "parameter_count"]),
    ("ModelView", NotClients, &["model", "model_bytes", "parameter_count", "schema"]),
    ("NodeView", NotClients, &["inputs", "name", "operator", "outputs"]),
    ("OpenRoundView", Shown, &["accepted", "dropped", "outstanding", "round"]),
    ("OrganisationView", NotClients, &["closed_at", "created_at", "id", "name"]),
    ("OverviewView", Clients, &["hours", "populations"]),
    ("OverviewView", NotClients, &["is_ready", "problems", "started_at", "tasks", "version"]),
    ("ParameterView", NotClients, &["name", "role", "shape"]),
    ("ParticipationView", Versions, &["count", "kind", "rate"]),
    // The number of rounds or assignments that failed in a row.
    ("PauseView", Shown, &["code", "reason"]),
    ("PauseView", NotClients, &["remedy"]),
    ("PlanView", NotClients, &["promise", "text", "work"]),
    ("PopulationOverview", Shown, &["enrolled", "training", "waiting"]),
    ("PopulationOverview", NotClients, &["active_tasks", "name"]),
    ("PopulationView", Shown, &["client_count"]),
    ("PopulationView", NotClients, &["created_at", "delta", "epsilon", "name", "unit"]),
    (
        "Problem",
        NotClients,
        &[
            "code",
            "detail",
            "disposition",
            "received_bytes",
            "retry_after_milliseconds",
            "server_time",
            "status",
            "type",
        ],
    ),
    ("RevokedClient", Shown, &["client", "token_closed"]),
    ("RevokedTokenClients", Shown, &["clients_revoked", "token_id"]),
    ("RoundAssignmentsView", Clients, &["lanes", "round"]),
    ("RoundAssignmentsView", Shown, &["left_out"]),
    ("RoundAssignmentsView", NotClients, &["withheld"]),
    ("RoundFunnelView", Shown, &["accepted", "cohort", "dropped", "outstanding", "round"]),
    ("RoundStatsView", OfPrivateTask, &["all"]),
    ("RoundStatsView", Clients, &["classes"]),
    ("RoundStatsView", Shown, &["number", "phase", "purpose"]),
    (
        "RoundView",
        Shown,
        &[
            "accepted",
            "asked_at",
            "base_version",
            "cohort",
            "created_at",
            "id",
            "number",
            "phase",
            "phase_since",
            "purpose",
            "reason",
            "task_id",
            "version",
        ],
    ),
    ("Sentence", Versions, &["about", "text"]),
    ("SeriesPoint", Withheld, &["examples"]),
    ("SeriesPoint", OfPrivateTask, &["accuracy", "loss", "upload_bytes"]),
    ("SeriesPoint", Shown, &["clients", "mean_staleness", "round_number", "staleness_max"]),
    ("SeriesPoint", Versions, &["change_norm", "created_at", "rolled_back_to", "version"]),
    ("SeriesView", Clients, &["evaluations", "points"]),
    ("SeriesView", NotClients, &["stride", "withheld"]),
    ("SessionView", NotClients, &["api_key_id", "api_key_name", "csrf_token", "expires_at", "role"]),
    ("SettingsView", NotClients, &["by", "delta", "epsilon", "unit", "weakened"]),
    // The decision for a count is that of the field that contains this view.
    ("ShareView", Clients, &["clients", "value"]),
    ("SliceView", Withheld, &["example_count"]),
    ("SliceView", OfPrivateTask, &["accuracy", "mean_loss", "metrics"]),
    ("SliceView", Shown, &["client_count", "slice"]),
    (
        "Statement",
        Versions,
        &[
            "accountant",
            "delta",
            "delta_of_population",
            "epsilon_budget",
            "epsilon_budget_of_population",
            "epsilon_by_loss_distribution",
            "epsilon_of_lineage",
            "epsilon_of_population",
            "epsilon_spent",
            "epsilon_without_amplification",
            "is_private",
            "is_seeded",
            "ledger_head",
            "mechanism",
            "name",
            "noise_multiplier",
            "participations_max",
            "population",
            "relation",
            "releases",
            "releases_max",
            "report_goal",
            "rho_spent",
            "rho_without_amplification",
            "sampling_rate",
            "sentences",
            "separation",
            "task_id",
            "unit",
        ],
    ),
    ("Statement", Shown, &["clients"]),
    (
        "SystemView",
        NotClients,
        &["database", "is_ready", "leases", "memory_bytes", "problems", "started_at", "version", "withheld"],
    ),
    ("SystemView", Clients, &["log"]),
    ("TaskSummary", Shown, &["rounds_committed"]),
    ("TaskSummary", NotClients, &["created_at", "id", "name", "population", "rounds_wanted", "state"]),
    ("TaskView", Clients, &["open_round", "pause"]),
    ("TaskView", Shown, &["rounds_committed", "rounds_opened"]),
    ("TaskView", Versions, &["latest_version", "state", "stop_reason"]),
    ("TaskView", NotClients, &["created_at", "description", "id", "model", "notes", "parameter_count"]),
    ("TensorSchema", NotClients, &["tensors"]),
    ("TensorSpec", NotClients, &["name", "shape"]),
    ("TermsView", NotClients, &["delta", "epsilon", "warm_start"]),
    ("TokenView", Shown, &["uses"]),
    (
        "TokenView",
        NotClients,
        &["created_at", "expires_at", "id", "population", "revoked_at", "user_key", "uses_max"],
    ),
    // A client was revoked at that time; `revoked` of `ClientsView` reveals that, too.
    ("TokenView", Shown, &["closed_at"]),
    (
        "TrafficView",
        OfPrivateTask,
        &["download_bytes", "float32_bytes", "reports", "updates", "upload_bytes"],
    ),
    ("VersionView", Withheld, &["example_count"]),
    ("VersionView", OfPrivateTask, &["accuracy", "mean_loss"]),
    ("VersionView", Shown, &["mean_staleness", "staleness_max"]),
    (
        "VersionView",
        Versions,
        &["change_norm", "created_at", "number", "rolled_back_to", "round_id", "weights", "weights_bytes"],
    ),
];

/// Responses that are not JSON, or whose form the document leaves open.
pub(super) const OPAQUE: &[(&str, Decision)] = &[
    ("GET /healthz", NotClients),
    // `every_metric_is_decided` checks their contents.
    ("GET /metrics", Clients),
    ("GET /openapi.json", NotClients),
    ("GET /readyz", NotClients),
    // The ids of changed tasks: a listener learns roughly when updates arrive.
    ("GET /v1/admin/events", Shown),
    ("GET /v1/admin/tasks/{id}/versions/{number}/model", Versions),
    ("POST /v1/admin/privacy/plan", NotClients),
];

/// The metrics, which need no key.
pub(super) const METRICS: &[(&str, Decision)] = &[
    // An update that cannot be combined, or a failure of the coordinator.
    ("folkmoot_commits_failed_total", Shown),
    ("folkmoot_limit_hits_total", NotClients),
    // Every client downloads the same bytes, except for bytes that it has in its cache.
    ("folkmoot_download_bytes_total", Shown),
    ("folkmoot_driver_panics_total", Shown),
    ("folkmoot_driver_restarts_total", Shown),
    ("folkmoot_refusals_total", Shown),
    ("folkmoot_round_transitions_total", Shown),
    // The fact that a round asked its stragglers, not which clients were slow.
    ("folkmoot_rounds_asked_total", Shown),
    ("folkmoot_tasks_paused_total", NotClients),
    ("folkmoot_update_bytes_total", OfPrivateTask),
    ("folkmoot_update_float32_bytes_total", OfPrivateTask),
    ("folkmoot_updates_total", OfPrivateTask),
    ("folkmoot_upload_bytes_total", OfPrivateTask),
    ("folkmoot_waiting_check_ins", Shown),
];

/// The fields of log lines at level `INFO` and above, by name.
pub(super) const LOG_FIELDS: &[(Decision, &[&str])] = &[
    // Phases count how many clients were drawn and reported; an error may name the assignment that failed.
    (Shown, &["assignment", "client", "clients", "code", "error", "from", "phase", "reason", "round", "to"]),
    // Measurements are logged for the operator's own examples only.
    (Versions, &["base_version", "best", "metric", "rolled_back_to", "value", "version", "weights"]),
    (
        NotClients,
        &[
            "api_key",
            "budget",
            "certificate",
            "changed",
            "created",
            "evaluation_data",
            "examples",
            "folder",
            "keep_token_open",
            "limit",
            "model",
            "model_bytes",
            "name",
            "organisation",
            "panic",
            "population",
            "purpose",
            "revoked",
            "role",
            "since_last",
            "state",
            "task",
            "tasks_cancelled",
            "token",
            "unit",
        ],
    ),
];
