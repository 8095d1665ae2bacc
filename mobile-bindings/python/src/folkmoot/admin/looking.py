"""Endpoints that the coordinator's own console uses."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..errors import BadOptionError
from . import looks, views
from .filling import filled
from .history import History

if TYPE_CHECKING:
    from .connection import Connection


class Looking:
    """Queries and actions of the coordinator's console."""

    _connection: Connection

    def overview(self) -> looks.OverviewView:
        """Returns a summary: populations, tasks by state, and the last 24 hours."""
        return filled(looks.OverviewView, self._connection.get("overview"))

    def system(self) -> looks.SystemView:
        """Returns the state of the coordinator's process and its latest log lines, newest first."""
        return filled(looks.SystemView, self._connection.get("system"))

    def models(self) -> list[looks.ModelSummary]:
        """Lists the newest 100 models, newest first."""
        return [filled(looks.ModelSummary, row) for row in self._connection.get("models")]

    def model_graph(self, model: str) -> looks.ModelGraphView:
        """Returns the graph of a model, given by its digest, and the cost of a training step."""
        return filled(looks.ModelGraphView, self._connection.get(f"models/{segment(model)}/graph"))

    def series(self, task: views.TaskLike, points: int = 600) -> looks.SeriesView:
        """Returns the history of a task, version by version, in about this many points: 1 to 5,000."""
        answer = self._connection.get(f"{task_path(task)}/series", {"points": points})
        return filled(looks.SeriesView, answer)

    def history(self, task: views.TaskLike, points: int = 5000) -> History:
        """Returns the history of a task with its metrics, version by version, in about this many points: 1 to 5,000."""
        answer = self._connection.get(task_path(task))
        return History.of(filled(views.TaskView, answer), self.series(task, points))

    def round_assignments(self, round_id: str) -> looks.RoundAssignmentsView:
        """Returns a round's assignments on a timeline, without the clients that they belong to."""
        answer = self._connection.get(f"rounds/{segment(round_id)}/assignments")
        return filled(looks.RoundAssignmentsView, answer)

    def population_clients(self, population: str) -> looks.ClientsView:
        """Returns aggregated statistics of a population's clients, never single clients."""
        return filled(looks.ClientsView, self._connection.get(f"populations/{segment(population)}/clients"))

    def set_client_kind(self, population: str, clients: Literal["crowd", "sites"]) -> views.PopulationView:
        """Sets whether a population has anonymous clients or named sites, before its first client enrols. Requires an
        admin's key. A population that does not exist is created.
        """
        answer = self._connection.ask("POST", f"populations/{segment(population)}/clients", {"clients": clients})
        return filled(views.PopulationView, answer)

    def set_viewers_download(self, population: str, viewers_download: bool) -> views.PopulationView:
        """Sets whether viewers and privacy officers may download the models of a population's tasks. Requires an admin's
        key. A population that does not exist is created.
        """
        body = {"viewers_download": viewers_download}
        answer = self._connection.ask("POST", f"populations/{segment(population)}/downloads", body)
        return filled(views.PopulationView, answer)

    def sites(self, population: str, *, limit: int = 100, after: str | None = None) -> looks.SitesView:
        """Returns at most `limit` (1 to 100) named sites of a population, by name, those after the client `after`."""
        query: dict[str, object] = {"limit": limit} if after is None else {"limit": limit, "after": after}
        return filled(looks.SitesView, self._connection.get(f"populations/{segment(population)}/sites", query))

    def check_task(
        self,
        description: Mapping[str, Any],
        model: views.ModelView | None = None,
        *,
        evaluation_data: views.EvaluationDataView | None = None,
    ) -> looks.CheckTaskView:
        """Lists every fault of a task before it is created, with its file and command. Creates nothing.

        `description` has the keys of a task file and may be incomplete. Without `model`, only the description is
        checked.
        """
        body: dict[str, Any] = {"description": dict(description)}
        if model is not None:
            body["model"] = model["model"]
        if evaluation_data is not None:
            body["evaluation_data"] = evaluation_data["evaluation_data"]
        return filled(looks.CheckTaskView, self._connection.ask("POST", "tasks/check", body))

    def roll_back(self, task: views.TaskLike, version: int) -> views.TaskView:
        """Creates a new version with the weights of an earlier one. The task must be paused. Nothing is deleted."""
        answer = self._connection.ask("POST", f"{task_path(task)}/roll-back", {"version": int(version)})
        return filled(views.TaskView, answer)

    def endorsement(self, task: views.TaskLike) -> looks.EndorsementView:
        """Returns what a task gives to clients, and the endorsement in force."""
        return filled(looks.EndorsementView, self._connection.get(f"{task_path(task)}/endorsement"))

    def publish_endorsement(self, task: views.TaskLike, endorsement: looks.Endorsement) -> looks.EndorsementView:
        """Publishes a statement that `folkmoot endorsement sign` has signed. The task's assignments carry it from then
        on.
        """
        answer = self._connection.ask("POST", f"{task_path(task)}/endorsement", dict(endorsement))
        return filled(looks.EndorsementView, answer)

    def plan_privacy(
        self, clients: int, report_goal: int, rounds: int, epsilon: float, **more: float | str
    ) -> dict[str, Any]:
        """Computes the noise that a privacy budget requires, and whether the model can still learn with it.

        `more` may contain `delta`, `participations`, `parameters`, `clipping_norm` and `amplification`, as for
        `folkmoot privacy plan`. The answer has `intention`, `forecast` and `adaptive_update_multiplier`.
        """
        said = {"clients": clients, "report_goal": report_goal, "rounds": rounds, "epsilon": epsilon, **more}
        return dict(self._connection.ask("POST", "privacy/plan", said))

    def start_demo(self) -> views.TaskView:
        """Creates the digits demo and runs its clients inside the coordinator, which must not have any task yet."""
        return filled(views.TaskView, self._connection.ask("POST", "demo"))

    def audit(self, *, after: int | None = None, limit: int = 20) -> looks.AuditPageView:
        """Returns at most `limit` (1 to 100) entries of the audit log after number `after`, by default the newest.

        `json.loads(entry["record"])` contains the actor, the action and its subject. `folkmoot audit verify` checks the
        whole chain. Requires the key of an admin or a privacy officer.
        """
        query: dict[str, object] = {"limit": limit} if after is None else {"limit": limit, "after": after}
        return filled(looks.AuditPageView, self._connection.get("audit", query))


def task_path(task: views.TaskLike) -> str:
    """Returns a task's path, from its id or from any method's result for it."""
    return f"tasks/{segment(task if isinstance(task, str) else task['id'])}"


def segment(text: str) -> str:
    """Checks an id and returns it in a form that stays one segment of a path."""
    if not text or text.strip(".") == "":
        raise BadOptionError(f"{text!r} is not an id; give an id that the coordinator returned")
    return urllib.parse.quote(text, safe="")
