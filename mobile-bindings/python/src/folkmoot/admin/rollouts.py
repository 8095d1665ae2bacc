"""The models that apps should use: rollouts of a population."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from . import views
from .filling import filled
from .looking import segment

if TYPE_CHECKING:
    from .connection import Connection


class RolloutView(TypedDict):
    """A model version that apps should use. `held` says why no device gets it; None while devices get it.

    `loaded` and `failed` count the devices that have reported. More than the share `failures_max` of failed ones hold the
    rollout.
    """

    population: str
    number: int
    channel: str
    task_id: str
    version: int
    share: float
    failures_max: float
    held: str | None
    loaded: int
    failed: int
    last_failure: str | None
    created_at: int


class Rollouts:
    """Rolls models out to devices."""

    _connection: Connection
    _paged: Callable[..., Iterator[Any]]

    def create_rollout(
        self,
        population: str,
        task: views.TaskLike,
        *,
        version: int | None = None,
        channel: str | None = None,
        share: float | None = None,
        failures_max: float | None = None,
    ) -> RolloutView:
        """Gives a model version to the devices of a channel, by default the newest version and `stable`.

        `share` is the share of the channel's devices that get it, 0 to 1, by default 1. The others keep the model of the
        rollout before. `failures_max` is the share of devices that may fail to load it, 0 to 1, by default 0.05. If more fail,
        and more than one, the coordinator holds the rollout.
        """
        said = {"version": version, "channel": channel, "share": share, "failures_max": failures_max}
        body = {"task": task if isinstance(task, str) else task["id"], **_given(said)}
        return filled(RolloutView, self._connection.ask("POST", _path(population), body))

    def rollouts(self, population: str) -> Iterator[RolloutView]:
        """Lists a population's rollouts."""
        return self._paged(RolloutView, _path(population), "before", "number")

    def change_rollout(
        self,
        population: str,
        number: int,
        *,
        share: float | None = None,
        failures_max: float | None = None,
        held: bool | None = None,
    ) -> RolloutView:
        """Changes a rollout. Settings that you leave out are unchanged.

        With `held=True`, no device gets the model any more: devices return to the rollout before it. With `held=False`, they
        get it again.
        """
        body = _given({"share": share, "failures_max": failures_max, "held": held})
        return filled(RolloutView, self._connection.ask("POST", f"{_path(population)}/{int(number)}", body))


def _path(population: str) -> str:
    return f"populations/{segment(population)}/rollouts"


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}
