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


class Waiting:
    """Waits for what happens to a task."""

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
        until = None if seconds_max is None else time.monotonic() + seconds_max
        told: set[int] = set()
        open_from = after + 1
        while True:
            # Query the state first: the list then contains every round that ended before the task did.
            is_over = self.task(task)["state"] in _OVER
            rows = _rounds_from(self, task, open_from)
            for row in rows:
                if row["phase"] in _ENDED and row["number"] not in told:
                    told.add(row["number"])
                    yield row
            while open_from in told:
                told.remove(open_from)
                open_from += 1
            if is_over or (until is not None and time.monotonic() >= until):
                return
            pause = max(poll_seconds, POLL_SECONDS_MIN)
            time.sleep(pause if until is None else max(0.0, min(pause, until - time.monotonic())))

    def wait(
        self: _Tasks,
        task: views.TaskLike,
        *,
        seconds_max: float | None = None,
        poll_seconds: float = 1.0,
        progress: bool | None = None,
    ) -> views.TaskView:
        """Waits until the task ends or `seconds_max` have passed, and returns the task as it then is.

        A paused task has not ended. `progress` shows a progress bar over the committed rounds, or none; by default, a notebook
        and a terminal have one.
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
