"""What the coordinator's own console looks at, and the few things that it does beside."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import BadOptionError
from . import looks, views

if TYPE_CHECKING:
    from .connection import Connection


class Looking:
    """Looks at a coordinator as its console does."""

    _connection: Connection

    def overview(self) -> looks.OverviewView:
        """Shows what is going on: populations, tasks by state, and the last 24 hours."""
        return views.filled(looks.OverviewView, self._connection.get("overview"))

    def system(self) -> looks.SystemView:
        """Shows how the process is, and what it logged last, newest first."""
        return views.filled(looks.SystemView, self._connection.get("system"))

    def models(self) -> list[looks.ModelSummary]:
        """Lists the newest 100 models, newest first."""
        return [views.filled(looks.ModelSummary, row) for row in self._connection.get("models")]

    def model_graph(self, model: str) -> looks.ModelGraphView:
        """Shows what is in a model's file, by its digest, and what a step of training costs."""
        return views.filled(looks.ModelGraphView, self._connection.get(f"models/{segment(model)}/graph"))

    def series(self, task: views.TaskLike, points: int = 600) -> looks.SeriesView:
        """Shows how a task went, version after version, in about so many points: 1 to 5,000."""
        answer = self._connection.get(f"{task_path(task)}/series", {"points": points})
        return views.filled(looks.SeriesView, answer)

    def round_assignments(self, round_id: str) -> looks.RoundAssignmentsView:
        """Shows a round's assignments on the clock. Whose they are is not told."""
        answer = self._connection.get(f"rounds/{segment(round_id)}/assignments")
        return views.filled(looks.RoundAssignmentsView, answer)

    def population_clients(self, population: str) -> looks.ClientsView:
        """Shows who a population's clients are, taken together: never one of them."""
        return views.filled(looks.ClientsView, self._connection.get(f"populations/{segment(population)}/clients"))

    def check_task(
        self,
        description: Mapping[str, Any],
        model: views.ModelView | None = None,
        *,
        evaluation_data: views.EvaluationDataView | None = None,
    ) -> looks.CheckTaskView:
        """Lists every fault of a task that might be made, with its file and command. Nothing is made.

        `description` has the keys of a task's file, and may be unfinished. Without `model` it is checked by itself.
        """
        body: dict[str, Any] = {"description": dict(description)}
        if model is not None:
            body["model"] = model["model"]
        if evaluation_data is not None:
            body["evaluation_data"] = evaluation_data["evaluation_data"]
        return views.filled(looks.CheckTaskView, self._connection.ask("POST", "tasks/check", body))

    def roll_back(self, task: views.TaskLike, version: int) -> views.TaskView:
        """Makes a new version with the weights of an earlier one. The task must be paused; nothing is deleted."""
        answer = self._connection.ask("POST", f"{task_path(task)}/roll-back", {"version": int(version)})
        return views.filled(views.TaskView, answer)

    def plan_privacy(
        self, clients: int, report_goal: int, rounds: int, epsilon: float, **more: float | str
    ) -> dict[str, Any]:
        """Derives how much noise a budget asks for, and whether anything is learned through it.

        `more` may have `delta`, `participations`, `parameters`, `clipping_norm` and `amplification`, as
        `folkmoot privacy plan` has them. The answer has `intention`, `forecast` and `adaptive_update_multiplier`.
        """
        said = {"clients": clients, "report_goal": report_goal, "rounds": rounds, "epsilon": epsilon, **more}
        return dict(self._connection.ask("POST", "privacy/plan", said))

    def start_demo(self) -> views.TaskView:
        """Makes the digits demo and starts its clients inside the coordinator, on which there must not be a task yet."""
        return views.filled(views.TaskView, self._connection.ask("POST", "demo"))


def task_path(task: views.TaskLike) -> str:
    """A task's place: of its id, or of what a method returned for it."""
    return f"tasks/{segment(task if isinstance(task, str) else task['id'])}"


def segment(text: str) -> str:
    """What is given as an id, in a form that stays one segment of a path."""
    if not text or text.strip(".") == "":
        raise BadOptionError(f"{text!r} is no id")
    return urllib.parse.quote(text, safe="")
