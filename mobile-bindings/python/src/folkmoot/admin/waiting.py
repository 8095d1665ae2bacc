"""Waiting for rounds and for the end of a task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from .._notebook.bar import Bar
from . import views

POLL_SECONDS_MIN = 0.05
"""The shortest pause between two queries for a task's state."""

_ENDED = ("committed", "evaluated", "abandoned")
_OVER = ("completed", "cancelled")


class _Tasks(Protocol):
    """The queries that waiting needs."""

    def task(self, task: views.TaskLike) -> views.TaskView: ...

    def rounds(self, task: views.TaskLike) -> Iterator[views.RoundView]: ...

    def watch(
        self, task: views.TaskLike, *, poll_seconds: float, seconds_max: float | None
    ) -> Iterator[views.RoundView]: ...


class Ended:
    """The rounds of a task that have ended, query by query."""

    def __init__(
        self, admin: _Tasks, task: views.TaskLike, after: int, poll_seconds: float, seconds_max: float | None
    ) -> None:
        """Begins after the round with the number `after`. `Waiting.watch` describes the other arguments."""
        self._admin, self._task = admin, task
        self._poll_seconds = max(poll_seconds, POLL_SECONDS_MIN)
        self._until = None if seconds_max is None else time.monotonic() + seconds_max
        self._told: set[int] = set()
        self._open_from = after + 1
        self.is_over = False
        """True once the task has ended or the time is up."""

    def query(self) -> list[views.RoundView]:
        """Returns the rounds that have ended since the last query, the oldest first."""
        # Query the state first: the list then contains every round that ended before the task did.
        is_over = self._admin.task(self._task)["state"] in _OVER
        rows = [
            row
            for row in _rounds_from(self._admin, self._task, self._open_from)
            if row["phase"] in _ENDED and row["number"] not in self._told
        ]
        self._told.update(row["number"] for row in rows)
        while self._open_from in self._told:
            self._told.remove(self._open_from)
            self._open_from += 1
        self.is_over = is_over or (self._until is not None and time.monotonic() >= self._until)
        return rows

    @property
    def pause_seconds(self) -> float:
        """The pause before the next query."""
        if self._until is None:
            return self._poll_seconds
        return max(0.0, min(self._poll_seconds, self._until - time.monotonic()))


class Waiting:
    """Waits for the events of a task."""

    def watch(
        self: _Tasks,
        task: views.TaskLike,
        *,
        after: int = 0,
        poll_seconds: float = 1.0,
        seconds_max: float | None = None,
    ) -> Iterator[views.RoundView]:
        """Yields each round when it ends, the oldest first, until the task ends or `seconds_max` have passed.

        It starts with the rounds that have already ended and whose number is above `after`. A round ends committed,
        evaluated or abandoned. If the task is a draft or paused, this waits until it runs.
        """
        ended = Ended(self, task, after, poll_seconds, seconds_max)
        while True:
            yield from ended.query()
            if ended.is_over:
                return
            time.sleep(ended.pause_seconds)

    def wait(
        self: _Tasks,
        task: views.TaskLike,
        *,
        seconds_max: float | None = None,
        poll_seconds: float = 1.0,
        progress: bool | None = None,
    ) -> views.TaskView:
        """Waits until the task ends or `seconds_max` have passed, and returns the task as it then is.

        A paused task has not ended. `progress` shows a progress bar over the committed rounds, or none; by default, a terminal
        has one, and with tqdm a notebook.
        """
        total = self.task(task)["description"].get("stop", {}).get("rounds")
        committed = 0
        with Bar(progress, "training", total, "rounds") as bar:
            for row in self.watch(task, poll_seconds=poll_seconds, seconds_max=seconds_max):
                committed += row["phase"] == "committed"
                bar.show(committed)
        return self.task(task)


def _rounds_from(admin: _Tasks, task: views.TaskLike, number: int) -> list[views.RoundView]:
    """Returns the rounds with at least this number, the oldest first."""
    rows = []
    for row in admin.rounds(task):
        if row["number"] < number:
            break
        rows.append(row)
    return rows[::-1]
