"""Summaries and chart data of the coordinator: plain dictionaries, as in `views`."""

from __future__ import annotations

from typing import Any, TypedDict

from .views import CreatedApiKey, EvaluationView, RoundView


class HourView(TypedDict):
    """Counts for one hour."""

    abandoned: int
    committed: int
    since: int
    updates: int | None
    upload_bytes: int | None


class PopulationOverview(TypedDict):
    """A population in the overview."""

    active_tasks: int
    enrolled: int
    name: str
    training: int | None
    waiting: int | None


class OverviewView(TypedDict):
    """Current activity."""

    hours: list[HourView]
    is_ready: bool
    populations: list[PopulationOverview]
    problems: list[str]
    started_at: int
    tasks: dict[str, int]
    version: str


class ChannelView(TypedDict):
    """A channel for notices, with its deliveries since the process started."""

    delivered_at: int | None
    error: str | None
    kind: str
    name: str
    waiting: int


class LeaseView(TypedDict):
    """A lease: only its holder may drive the task."""

    held_until: int
    holder: str
    name: str


class LogLineView(TypedDict):
    """A line of the coordinator's log. `at` is in milliseconds since 1970."""

    at: int
    fields: dict[str, str]
    level: str
    message: str
    target: str


class SystemView(TypedDict):
    """The state of the coordinator's process."""

    database: str
    is_ready: bool
    leases: list[LeaseView]
    log: list[LogLineView]
    memory_bytes: int | None
    notifications: list[ChannelView]
    problems: list[str]
    started_at: int
    version: str
    withheld: str | None


class ModelSummary(TypedDict):
    """A model in a list."""

    created_at: int
    model: str
    model_bytes: int
    name: str | None
    parameter_count: int


class NodeView(TypedDict):
    """A node of the model's graph."""

    inputs: list[str]
    name: str
    operator: str
    outputs: list[str]


class ParameterView(TypedDict):
    """One tensor of the weights."""

    name: str
    role: str
    shape: list[int]


class InputView(TypedDict):
    """An input of a model."""

    length_axis: int | None
    name: str
    shape: list[int]


class ModelGraphView(TypedDict):
    """A model's graph, and the cost of a training step."""

    forward_flops: int
    input_shape: list[int]
    inputs: list[InputView]
    model_bytes: int
    nodes: list[NodeView]
    operators: dict[str, int]
    output_shape: list[int]
    parameter_count: int
    parameters: list[ParameterView]
    training_flops: int


class FaultView(TypedDict):
    """One fault of a task description."""

    field: str
    line: int | None
    message: str
    remedy: str


class CheckTaskView(TypedDict):
    """The result of checking a task description."""

    command: str
    description: dict[str, Any] | None
    faults: list[FaultView]
    notes: list[str]
    toml: str


class SeriesPoint(TypedDict):
    """The data of one version for a chart."""

    accuracy: float | None
    change_norm: float
    clients: int | None
    created_at: int
    examples: int | None
    loss: float | None
    mean_staleness: float
    rolled_back_to: int | None
    round_number: int | None
    staleness_max: int
    upload_bytes: int | None
    version: int


class SeriesView(TypedDict):
    """The history of a task, version by version."""

    evaluations: list[EvaluationView]
    points: list[SeriesPoint]
    stride: int
    withheld: str | None


class LaneView(TypedDict):
    """One assignment on a timeline."""

    assigned_at: int
    closed_at: int | None
    deadline: int
    download_bytes: int | None
    kind: str | None
    reason: str | None
    status: str
    training_ms: int | None
    upload_bytes: int | None


class UpdateScoreView(TypedDict):
    """The score of one update: how unusual it is among the updates of its version."""

    client_id: str | None
    cosine: float
    explanation: str
    is_unusual: bool
    norm_ratio: float
    score: float


class CommitScoresView(TypedDict):
    """The scores of the updates of a version, the most unusual first."""

    most_unusual: list[UpdateScoreView]
    unusual: int
    updates: int


class RoundAssignmentsView(TypedDict):
    """A round's assignments on a timeline, without the clients that they belong to."""

    lanes: list[LaneView]
    left_out: int | None
    round: RoundView
    scores: CommitScoresView | None
    withheld: str | None


class ShareView(TypedDict):
    """A count of clients or updates that share a property."""

    clients: int
    value: str


class ClientsView(TypedDict):
    """Aggregated statistics of a population's clients."""

    attributes: dict[str, list[ShareView]]
    enrolled: int
    example_counts: list[ShareView] | None
    group_min: int
    revoked: int
    sdk_versions: list[ShareView]
    training: int | None
    training_speed: list[ShareView] | None
    waiting: int | None
    withheld: str | None


class AuditEntryView(TypedDict):
    """An entry of the audit log. `record` is JSON text, and `digest` its SHA-256 in hexadecimal digits."""

    record: str
    digest: str


class AuditPageView(TypedDict):
    """A page of the audit log, the oldest entry first. `head` is the digest of the whole log's last entry."""

    entries: list[AuditEntryView]
    entry_count: int
    head: str | None


class EndorsedPlan(TypedDict):
    """A plan, and the coordinator's promises for it."""

    cohort_min: int
    digest: str
    protection_level: str


class Endorsement(TypedDict):
    """An operator's signed statement about a task."""

    public_key: str
    signature: str
    statement: str


class PlanView(TypedDict):
    """A plan of a task, byte for byte as clients receive it."""

    promise: EndorsedPlan
    text: str
    work: str


class EndorsementView(TypedDict):
    """The model and the plans that a task gives to clients, and the endorsement in force."""

    endorsement: Endorsement | None
    model: str
    plans: list[PlanView]
    task_id: str


class QuotasView(TypedDict):
    """The quotas of an organisation. None is no limit. The rate is for each process of the coordinator."""

    clients_max: int | None
    tasks_max: int | None
    stored_bytes_max: int | None
    bytes_per_day_max: int | None
    requests_per_second_max: int | None


class DayUsageView(TypedDict):
    """The usage by an organisation's clients on one day (UTC), such as `2026-01-31`."""

    day: str
    organisation_id: str
    organisation: str
    requests: int
    received_bytes: int
    sent_bytes: int
    updates: int


class UsageView(TypedDict):
    """An organisation's quotas, its current size, and the usage by its clients, the oldest day first."""

    quotas: QuotasView
    clients: int
    tasks: int
    stored_bytes: int
    days: list[DayUsageView]


class OrganisationView(TypedDict):
    """An organisation that shares the coordinator with others."""

    closed_at: int | None
    quotas: QuotasView
    created_at: int
    id: str
    name: str


class CreatedOrganisation(TypedDict):
    """A new organisation with its first API key."""

    first_key: CreatedApiKey
    organisation: OrganisationView


class ClosedOrganisationView(TypedDict):
    """The credentials and tasks that closing an organisation ended."""

    api_keys_revoked: int
    clients_revoked: int
    id: str
    tasks_cancelled: int
    tokens_revoked: int


class SiteFailureView(TypedDict):
    """An assignment that ended without an update from the site."""

    at: int
    detail: str | None
    kind: str
    reason: str | None


class SiteView(TypedDict):
    """A named site and its latest activity."""

    attributes: dict[str, str]
    client: str
    enrolled_at: int
    failures: int | None
    last_failure: SiteFailureView | None
    last_seen_at: int | None
    name: str
    revoked_at: int | None
    sdk_version: str | None
    token_id: str | None


class SitesView(TypedDict):
    """A page of a population's sites."""

    sites: list[SiteView]
    withheld: str | None


class ComponentView(TypedDict):
    """An uploaded component. `roles` are the tables of a task that can name it: `aggregator`, `finalizer`, or both."""

    component: str
    roles: list[str]
