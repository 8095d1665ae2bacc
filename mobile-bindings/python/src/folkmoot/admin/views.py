"""Answers of the administrative API: plain dictionaries, which you can pass to `pandas.DataFrame` unchanged.

Times are milliseconds since 1970. A field that is left out is None. A newer coordinator may send more fields.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class TensorSpec(TypedDict):
    """A trained tensor."""

    name: str
    shape: list[int]


class TensorSchema(TypedDict):
    """The trained tensors, in the model's order."""

    tensors: list[TensorSpec]


class ModelView(TypedDict):
    """An uploaded model. Tasks refer to it by `model`, the digest of its ONNX file."""

    model: str
    model_bytes: int
    parameter_count: int
    schema: TensorSchema


class EvaluationDataView(TypedDict):
    """Uploaded examples, on which the coordinator evaluates."""

    evaluation_data: str
    example_count: int


class TaskSummary(TypedDict):
    """A task in a list. `state` is `draft`, `active`, `paused`, `completed` or `cancelled`."""

    id: str
    name: str
    population: str
    model: str
    state: str
    rounds_committed: int
    rounds_wanted: int | None
    created_at: int


class RoundView(TypedDict):
    """A round. `phase` ends with `committed`, `evaluated` or `abandoned`. An abandoned round has a `reason`."""

    id: str
    task_id: str
    number: int
    purpose: str
    phase: str
    phase_since: int
    asked_at: int | None
    base_version: int
    version: int | None
    cohort: int | None
    accepted: int | None
    reason: str | None
    created_at: int


class AwaitedView(TypedDict):
    """The event that ends the phase of an open round: `needed` clients or updates, or the time `until` with `needed_then`."""

    needed: int | None
    until: int | None
    needed_then: int | None
    sums_of: list[str]


class OpenRoundView(TypedDict):
    """The open round and its updates so far."""

    round: RoundView
    accepted: int | None
    outstanding: int | None
    dropped: int | None
    awaited: AwaitedView | None


class PauseView(TypedDict):
    """The reason why the coordinator paused a task on its own, and the remedy."""

    code: str
    reason: str
    remedy: str


class TaskView(TypedDict):
    """A task and its current state. `stop_reason` names the condition that ended the task. `notes` lists attacks that the task
    does not defend against.
    """

    id: str
    description: dict[str, Any]
    state: str
    stop_reason: str | None
    model: str
    parameter_count: int
    latest_version: int
    rounds_opened: int
    rounds_committed: int
    open_round: OpenRoundView | None
    pause: PauseView | None
    notes: list[str] | None
    created_at: int


class DroppedView(TypedDict):
    """Assignments without an update: `expired`, `left_behind`, `aborted` or `refused`, with the reason."""

    kind: str
    reason: str | None
    count: int


class RoundFunnelView(TypedDict):
    """A round with the outcomes of its assignments."""

    round: RoundView
    cohort: int | None
    accepted: int | None
    outstanding: int | None
    dropped: list[DroppedView]
    awaited: AwaitedView | None


class TrafficView(TypedDict):
    """Bytes of updates and downloads, and the size that the updates would have in float32."""

    updates: int
    upload_bytes: int
    float32_bytes: int
    reports: int
    download_bytes: int


class ClassTrafficView(TypedDict):
    """The traffic of one codec and network type."""

    codec: str
    network: str
    traffic: TrafficView


class RoundStatsView(TypedDict):
    """The traffic of a round's updates, in bytes. For a task with privacy, `all` and the classes are missing."""

    number: int
    purpose: str
    phase: str
    all: TrafficView | None
    classes: list[ClassTrafficView]


class VersionView(TypedDict):
    """A model version. Version 0 is the initial model."""

    number: int
    round_id: str | None
    weights: str
    weights_bytes: int
    example_count: int | None
    mean_loss: float | None
    accuracy: float | None
    change_norm: float
    mean_staleness: float
    staleness_max: int
    rolled_back_to: int | None
    created_at: int
    dropped_at: int | None


class SliceView(TypedDict):
    """Metrics for the clients with one value of an attribute: `attribute=value`."""

    slice: str
    client_count: int
    example_count: int | None
    mean_loss: float | None
    accuracy: float | None
    metrics: dict[str, float]


class EvaluationView(TypedDict):
    """Metrics of a version: `central`, on the operator's examples; `federated`, on the clients' examples; or `fine_tuned`, on
    these after each client has fine-tuned the version."""

    version: int
    source: str
    client_count: int
    example_count: int | None
    mean_loss: float | None
    accuracy: float | None
    metrics: dict[str, float]
    metrics_missing: str | None
    metric: str
    is_best: bool
    slices: list[SliceView]
    created_at: int


ClassMetrics = TypedDict(
    "ClassMetrics",
    {
        "class": int,
        "label_count": int,
        "predicted_count": int,
        "precision": float | None,
        "recall": float | None,
        "f1": float | None,
    },
)
"""The predictions of one class. `class` is a keyword, so the fields are listed by name."""


class ClassReport(TypedDict):
    """The predictions of a classifier, class by class. Row `a`, column `b` of `confusion` counts the labels of class
    `a` for which the model predicted class `b`."""

    classes: list[ClassMetrics]
    confusion: list[list[int]]


class ClassEvaluationView(TypedDict):
    """One evaluation of a version, class by class."""

    evaluation: EvaluationView
    classes: ClassReport | None


class PopulationView(TypedDict):
    """A population, with the privacy budget of all its tasks together, per client or user. `clients` is `crowd` or
    `sites`.
    """

    name: str
    client_count: int
    clients: str
    unit: str
    epsilon: float | None
    delta: float | None
    viewers_download: bool
    created_at: int


class Sentence(TypedDict):
    """A sentence of a privacy statement."""

    about: str
    text: str


class Statement(TypedDict):
    """A task's privacy guarantee and the part of its budget that is spent. `sentences` states both in words."""

    task_id: str
    name: str
    population: str
    clients: int
    is_private: bool
    is_seeded: bool
    releases: int
    releases_max: int | None
    unit: str | None
    mechanism: str | None
    accountant: str | None
    relation: str | None
    noise_multiplier: float | None
    report_goal: int | None
    sampling_rate: float | None
    participations_max: int | None
    separation: int | None
    delta: float | None
    delta_of_population: float | None
    epsilon_budget: float | None
    epsilon_budget_of_population: float | None
    epsilon_spent: float | None
    epsilon_of_lineage: float | None
    epsilon_of_population: float | None
    epsilon_by_loss_distribution: float | None
    epsilon_without_amplification: float | None
    rho_spent: float | None
    rho_without_amplification: float | None
    ledger_head: str | None
    sentences: list[Sentence]


class EntryView(TypedDict):
    """An entry of a population's privacy ledger. Each entry contains the digest of the one before.

    `kind` is `release`, `collection`, `settings` or `task`.
    """

    population: str
    sequence: int
    kind: str | None
    at: int
    task_id: str | None
    round_id: str | None
    version: int | None
    noise_multiplier: float | None
    relation: str | None
    participation: dict[str, Any] | None
    settings: dict[str, Any] | None
    terms: dict[str, Any] | None
    previous: str
    digest: str


class TokenView(TypedDict):
    """An enrolment token without its secret.

    `uses_max` is None if the number of clients is unlimited. A token is closed to new clients when a client that
    enrolled with it is revoked.
    """

    id: str
    name: str | None
    population: str
    user_key: str | None
    jwt_keys: list[str]
    uses: int
    uses_max: int | None
    created_at: int
    expires_at: int | None
    closed_at: int | None
    revoked_at: int | None


class ClientView(TypedDict):
    """A client and the token that it enrolled with. `token_id` is None for clients that enrolled before tokens were
    recorded.
    """

    id: str
    population: str
    site: str | None
    token_id: str | None
    enrolled_at: int
    revoked_at: int | None


class RevokedClient(TypedDict):
    """A revoked client, and whether its token is now closed to new clients."""

    client: ClientView
    token_closed: bool


class RevokedTokenClients(TypedDict):
    """A token that was revoked with its clients. `clients_revoked` counts the clients that were not revoked before."""

    token_id: str
    clients_revoked: int


class CreatedToken(TypedDict):
    """A new token. `token` is the secret, which the coordinator returns only once. A notebook hides it: read `row["token"]`."""

    token: str
    record: TokenView


Role = Literal["viewer", "operator", "privacy_officer", "admin", "aggregator"]
"""The role of an API key."""


class ApiKeyView(TypedDict):
    """An API key without its secret. `role` is one of [`Role`]."""

    id: str
    name: str
    role: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    rotated_at: int | None
    previous_valid_until: int | None


class CreatedApiKey(TypedDict):
    """A new API key. `api_key` is the secret, which the coordinator returns only once. A notebook hides it: read `row["api_key"]`."""

    api_key: str
    record: ApiKeyView


TaskLike = Union[str, TaskView, TaskSummary]
"""A task: its id, or any method's result for it."""
