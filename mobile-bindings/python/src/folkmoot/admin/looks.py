"""What the coordinator shows of itself at a glance and for charts: plain dictionaries, as in `views`."""

from __future__ import annotations

from typing import Any, TypedDict

from .views import EvaluationView, RoundView


class HourView(TypedDict):
    """What happened in an hour."""

    abandoned: int
    committed: int
    since: int
    updates: int | None
    upload_bytes: int | None


class PopulationOverview(TypedDict):
    """Who is there."""

    active_tasks: int
    enrolled: int
    name: str
    training: int | None
    waiting: int | None


class OverviewView(TypedDict):
    """What is going on."""

    hours: list[HourView]
    is_ready: bool
    populations: list[PopulationOverview]
    problems: list[str]
    started_at: int
    tasks: dict[str, int]
    version: str


class LeaseView(TypedDict):
    """A claim on a task, that only its holder drives."""

    held_until: int
    holder: str
    name: str


class LogLineView(TypedDict):
    """A line of the log."""

    at: int
    fields: dict[str, str]
    level: str
    message: str
    target: str


class SystemView(TypedDict):
    """How the process is."""

    database: str
    is_ready: bool
    leases: list[LeaseView]
    log: list[LogLineView]
    memory_bytes: int | None
    problems: list[str]
    started_at: int
    version: str


class ModelSummary(TypedDict):
    """A model in the list."""

    created_at: int
    model: str
    model_bytes: int
    parameter_count: int


class NodeView(TypedDict):
    """A node of the graph."""

    inputs: list[str]
    name: str
    operator: str
    outputs: list[str]


class ParameterView(TypedDict):
    """One tensor of the weights."""

    name: str
    role: str
    shape: list[int]


class ModelGraphView(TypedDict):
    """What is in a model's file, and what a step of training costs."""

    forward_flops: int
    input_shape: list[int]
    model_bytes: int
    nodes: list[NodeView]
    operators: dict[str, int]
    output_shape: list[int]
    parameter_count: int
    parameters: list[ParameterView]
    training_flops: int


class FaultView(TypedDict):
    """One thing that is wrong."""

    field: str
    line: int | None
    message: str
    remedy: str


class CheckTaskView(TypedDict):
    """What would come of a task."""

    command: str
    description: dict[str, Any] | None
    faults: list[FaultView]
    notes: list[str]
    toml: str


class SeriesPoint(TypedDict):
    """How one version came about."""

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
    """How a task went, version after version."""

    evaluations: list[EvaluationView]
    points: list[SeriesPoint]
    stride: int
    withheld: str | None


class LaneView(TypedDict):
    """One assignment on the clock."""

    assigned_at: int
    closed_at: int | None
    deadline: int
    download_bytes: int | None
    kind: str | None
    reason: str | None
    status: str
    training_ms: int | None
    upload_bytes: int | None


class RoundAssignmentsView(TypedDict):
    """A round's assignments on the clock. It does not say whose they are."""

    lanes: list[LaneView]
    left_out: int | None
    round: RoundView
    withheld: str | None


class ShareView(TypedDict):
    """Clients, or updates, that have something in common."""

    clients: int
    value: str


class ClientsView(TypedDict):
    """Who a population's clients are, taken together."""

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
