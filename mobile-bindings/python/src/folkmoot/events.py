"""Events of a client. Ids are strings; times are milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from ._native import folkmoot_mobile as native


@dataclass(frozen=True)
class Enrolled:
    """The client was enrolled in the token's population."""

    client_id: str
    population: str


@dataclass(frozen=True)
class Waiting:
    """The client waits until its next check-in."""

    until: int


@dataclass(frozen=True)
class Assigned:
    """The client was selected for a round. Training starts from the model version `base_version`."""

    assignment_id: str
    task_id: str
    round_number: int
    base_version: int


@dataclass(frozen=True)
class Device:
    """Training runs on `device`: `cpu`, or an adapter's name. `energy_class` is `low`, `high` or `processor`."""

    assignment_id: str
    device: str
    energy_class: str


@dataclass(frozen=True)
class Training:
    """The engine's training made progress. `loss` is the mean over the last batch. Your own trainer sends no such
    events.
    """

    assignment_id: str
    step: int
    steps_total: int
    loss: float


@dataclass(frozen=True)
class Evaluating:
    """The model is being evaluated: sums over the first `example_count` of `examples_total` examples."""

    assignment_id: str
    example_count: int
    loss_sum: float
    correct_count: int
    examples_total: int


@dataclass(frozen=True)
class Uploading:
    """The update is being sent: bytes passed to the connection so far, and the size of the update."""

    assignment_id: str
    sent: int
    total: int


@dataclass(frozen=True)
class Round:
    """The coordinator accepted the update for this round."""

    assignment_id: str
    round_number: int
    training_milliseconds: int
    download_bytes: int
    upload_bytes: int


@dataclass(frozen=True)
class Aborted:
    """The client gave up the assignment. `reason` is `stopped`, `training_failed`, `declined` and so on."""

    assignment_id: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Dropped:
    """The coordinator no longer wants the update, for example because the round has closed."""

    assignment_id: str
    detail: str


@dataclass(frozen=True)
class Paused:
    """Training is paused. `reason` is `charging`, `battery`, `thermal` and so on, or the program's own text."""

    reason: str


@dataclass(frozen=True)
class Resumed:
    """The pause is over."""


@dataclass(frozen=True)
class BackingOff:
    """A request failed and will be sent again at `until`. `failures` counts failures in a row."""

    until: int
    failures: int
    detail: str


Event = Union[
    Enrolled,
    Waiting,
    Assigned,
    Device,
    Training,
    Evaluating,
    Uploading,
    Round,
    Aborted,
    Dropped,
    Paused,
    Resumed,
    BackingOff,
]

NAMES: dict[str, type[Event]] = {
    "enrolled": Enrolled,
    "waiting": Waiting,
    "assigned": Assigned,
    "device": Device,
    "training": Training,
    "evaluating": Evaluating,
    "uploading": Uploading,
    "round": Round,
    "aborted": Aborted,
    "dropped": Dropped,
    "paused": Paused,
    "resumed": Resumed,
    "backing_off": BackingOff,
}


def translated(event: native.ClientEvent) -> tuple[str, Event]:
    """Returns the name and this package's event for an event of the native library."""
    name = type(event).__name__.rpartition(".")[2].lower()
    return name, NAMES[name](**vars(event))
