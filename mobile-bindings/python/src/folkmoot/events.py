"""What a client tells. Ids are texts; moments are milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from ._native import folkmoot_mobile as native


@dataclass(frozen=True)
class Enrolled:
    """The client was enrolled, in the population to which the token belongs."""

    client_id: str
    population: str


@dataclass(frozen=True)
class Waiting:
    """There is nothing to do until then."""

    until: int


@dataclass(frozen=True)
class Assigned:
    """The client was drawn for a round, and starts from the model version `base_version`."""

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
    """The engine's training goes on; `loss` is the mean of the last batch. A trainer of your own tells nothing."""

    assignment_id: str
    step: int
    steps_total: int
    loss: float


@dataclass(frozen=True)
class Evaluating:
    """The model is measured: sums over the first `example_count` of `examples_total` examples."""

    assignment_id: str
    example_count: int
    loss_sum: float
    correct_count: int
    examples_total: int


@dataclass(frozen=True)
class Uploading:
    """The update is on its way: bytes handed to the connection, and of the whole update."""

    assignment_id: str
    sent: int
    total: int


@dataclass(frozen=True)
class Round:
    """The update was accepted and counts in this round."""

    assignment_id: str
    round_number: int
    training_milliseconds: int
    download_bytes: int
    upload_bytes: int


@dataclass(frozen=True)
class Aborted:
    """The client gave the assignment up; `reason` is `stopped`, `training_failed`, `declined` and so on."""

    assignment_id: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Dropped:
    """The coordinator no longer wants the update: the round closed, say."""

    assignment_id: str
    detail: str


@dataclass(frozen=True)
class Paused:
    """Nothing is trained now. `reason` is `charging`, `battery`, `thermal` and so on, or the program's own words."""

    reason: str


@dataclass(frozen=True)
class Resumed:
    """What was paused goes on."""


@dataclass(frozen=True)
class BackingOff:
    """A request failed and is sent again at `until`, after `failures` in a row."""

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
    """The name and the event of this package for one of the native library."""
    name = type(event).__name__.rpartition(".")[2].lower()
    return name, NAMES[name](**vars(event))
