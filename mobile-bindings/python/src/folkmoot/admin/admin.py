"""The administrative API of one coordinator."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

from .._buffers import ArrayLike
from ..errors import BadOptionError
from . import files, views
from .connection import Connection
from .looking import Looking, segment, task_path

PAGE_ROWS = 100
"""Rows that are asked for at once: as many as a coordinator gives."""
POLL_SECONDS_MIN = 0.05
"""The shortest pause between two looks at a task."""

_ENDED = ("committed", "evaluated", "abandoned")
_OVER = ("completed", "cancelled")

TaskLike = views.TaskLike
Source = Union[str, "os.PathLike[str]"]
_V = TypeVar("_V")


class Admin(Looking):
    """The administrative API of one coordinator, under one API key.

    Answers are dictionaries as `folkmoot.admin.views` describes them, with the same keys in each row. Lists come as iterators
    that ask for their next page when it is wanted, newest first where nothing else is said. Every method raises
    `AdminRefusedError` if the coordinator refuses, and UnreachableError if none answers; what changes nothing is tried again
    first. It may be used from several threads.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        certificate: str | bytes | os.PathLike[str] | None = None,
        *,
        timeout_seconds: float = 30.0,
    ) -> None:
        """Nothing is sent yet.

        `url` is `https://host[:port]`, or `http://` for this machine only. `api_key` is `ID.SECRET`. `certificate` is the
        coordinator's `ca.pem`: a path, or PEM as bytes; without it the system's certificates are trusted. A request is given
        up when nothing has come for `timeout_seconds`.

        Raises BadOptionError.
        """
        self._connection = Connection(url, api_key, certificate, timeout_seconds)

    @classmethod
    def from_environment(cls) -> Admin:
        """An admin by `FOLKMOOT_URL`, `FOLKMOOT_API_KEY` and, if it is set, `FOLKMOOT_CA`: no key stands in a notebook.

        Raises BadOptionError if one is missing.
        """
        missing = [name for name in ("FOLKMOOT_URL", "FOLKMOOT_API_KEY") if not os.environ.get(name)]
        if missing:
            raise BadOptionError(
                f"the environment has no {' and no '.join(missing)}: set it, or call Admin(url, api_key)"
            )
        certificate = os.environ.get("FOLKMOOT_CA") or None
        return cls(os.environ["FOLKMOOT_URL"], os.environ["FOLKMOOT_API_KEY"], certificate)

    def create_model(self, model: bytes | Source) -> views.ModelView:
        """Brings an ONNX model, a path or bytes. The same one again changes nothing."""
        return views.filled(views.ModelView, self._connection.send("models", files.content(model)))

    def create_evaluation_data(
        self, x: ArrayLike, y: ArrayLike, *, labels: Literal["classes", "targets"] | None = None
    ) -> views.EvaluationDataView:
        """Brings the operator's own examples, on which the coordinator evaluates. They are stored there.

        `x` has the shape `[examples, ...]`, `y` `[examples]` or `[examples, labels per example]`. Whole numbers in `y` are
        classes and others are targets, unless `labels` says so.

        Raises BadExampleError if they do not go together.
        """
        answer = self._connection.send("evaluation-data", files.examples(x, y, labels))
        return views.filled(views.EvaluationDataView, answer)

    def create_task(
        self,
        description: Mapping[str, Any] | Source,
        model: bytes | Source | views.ModelView,
        *,
        evaluation_data: views.EvaluationDataView | None = None,
        warm_start: tuple[TaskLike, int] | None = None,
        activate: bool = False,
    ) -> views.TaskView:
        """Makes a task and its model version 0, and starts it if `activate` says so.

        `description` is the path of a TOML file or a dictionary with the same keys (docs/reference/task.md). `model` is a path,
        bytes, or what `create_model` returned. `evaluation_data` is what `create_evaluation_data` returned. `warm_start` is
        the task and the number of the version with whose weights it begins.

        A description with faults is refused with all of them: `error.detail` lists them.
        """
        described = files.description(description)
        brought = model if isinstance(model, Mapping) else self.create_model(model)
        body: dict[str, Any] = {"description": described, "model": brought["model"], "activate": activate}
        if evaluation_data is not None:
            body["evaluation_data"] = evaluation_data["evaluation_data"]
        if warm_start is not None:
            body["warm_start"] = {"task_id": _id(warm_start[0]), "version": int(warm_start[1])}
        return views.filled(views.TaskView, self._connection.ask("POST", "tasks", body))

    def tasks(
        self, *, state: str | None = None, population: str | None = None, name: str | None = None
    ) -> Iterator[views.TaskSummary]:
        """Lists tasks: those in a state, of a population, and with this in their name, as far as that is said."""
        asked = {"state": state, "population": population, "name": name}
        return self._paged(views.TaskSummary, "tasks", "before", "id", **asked)

    def task(self, task: TaskLike) -> views.TaskView:
        """Shows a task with where it stands."""
        return views.filled(views.TaskView, self._connection.get(task_path(task)))

    def activate(self, task: TaskLike) -> views.TaskView:
        """Starts a task that is a draft."""
        return self._change(task, "activate")

    def pause(self, task: TaskLike) -> views.TaskView:
        """Holds a task: its open round is abandoned, and no other is opened."""
        return self._change(task, "pause")

    def resume(self, task: TaskLike) -> views.TaskView:
        """Lets a paused task go on."""
        return self._change(task, "resume")

    def cancel(self, task: TaskLike) -> views.TaskView:
        """Ends a task for good. Its model versions stay."""
        return self._change(task, "cancel")

    def rounds(self, task: TaskLike) -> Iterator[views.RoundView]:
        """Lists a task's rounds."""
        return self._paged(views.RoundView, f"{task_path(task)}/rounds", "before", "number")

    def round(self, round_id: str) -> views.RoundFunnelView:
        """Shows a round, by its id, with what became of its assignments."""
        return views.filled(views.RoundFunnelView, self._connection.get(f"rounds/{segment(round_id)}"))

    def watch(
        self, task: TaskLike, *, after: int = 0, poll_seconds: float = 1.0, seconds_max: float | None = None
    ) -> Iterator[views.RoundView]:
        """Yields each round when it has ended, the oldest first, until the task has ended or `seconds_max` are over.

        It begins with the rounds that have ended already, above the number `after`. A round ends committed, evaluated or
        abandoned. A task that is paused or a draft is waited for.
        """
        until = None if seconds_max is None else time.monotonic() + seconds_max
        told: set[int] = set()
        open_from = after + 1
        while True:
            # Asked first: what had ended when the task had is in the list.
            is_over = self.task(task)["state"] in _OVER
            rows = self._rounds_from(task, open_from)
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

    def stats(self, task: TaskLike) -> Iterator[views.RoundStatsView]:
        """Lists what the updates of a task's rounds cost in bytes."""
        return self._paged(views.RoundStatsView, f"{task_path(task)}/stats", "before", "number")

    def evaluations(self, task: TaskLike) -> list[views.EvaluationView]:
        """Lists what was measured of a task's versions, the oldest first."""
        return self._listed(views.EvaluationView, f"{task_path(task)}/evaluations")

    def versions(self, task: TaskLike) -> Iterator[views.VersionView]:
        """Lists a task's model versions."""
        return self._paged(views.VersionView, f"{task_path(task)}/versions", "before", "number")

    def download(self, task: TaskLike, path: Source, version: int | None = None) -> int:
        """Writes a model version as ONNX to a file, the newest one without a number, and returns the number.

        The file is there when it is whole, and replaces one that was there.
        """
        number = "latest" if version is None else str(int(version))
        target = Path(path)
        partial = target.with_name(f"{target.name}.part")
        try:
            with partial.open("wb") as file:
                headers = self._connection.download(f"{task_path(task)}/versions/{number}/model", file)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return int(headers["folkmoot-model-version"])

    def populations(self) -> list[views.PopulationView]:
        """Lists populations, by name."""
        return self._listed(views.PopulationView, "populations")

    def set_population_privacy(
        self,
        population: str,
        *,
        unit: Literal["client", "user"] | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        no_budget: bool = False,
        weaken: str | None = None,
    ) -> views.PopulationView:
        """Says whom the promises in a population protect, and what all its tasks together may spend.

        What is not said stays as it is. `epsilon`, above 0 and at most 1000, and `delta`, between 0 and 1, come together;
        `no_budget` takes the budget away. To raise the budget or to take it away needs a reason in `weaken`, which is
        written into the population's ledger.
        """
        said = {"unit": unit, "epsilon": epsilon, "delta": delta, "weaken": weaken}
        body = {name: value for name, value in said.items() if value is not None} | {"no_budget": no_budget}
        answer = self._connection.ask("POST", f"populations/{segment(population)}/privacy", body)
        return views.filled(views.PopulationView, answer)

    def privacy(self, task: TaskLike) -> views.Statement:
        """Says what a task promises its clients, and what it has spent."""
        return views.filled(views.Statement, self._connection.get(f"{task_path(task)}/privacy"))

    def ledger(self, population: str) -> Iterator[views.EntryView]:
        """Lists the entries of a population's privacy ledger, the oldest first."""
        return self._paged(views.EntryView, f"populations/{segment(population)}/ledger", "after", "sequence")

    def create_token(
        self,
        population: str,
        *,
        user: str | None = None,
        uses_max: int | None = None,
        unlimited_uses: bool = False,
        expires_in_seconds: int | None = None,
        no_expiry: bool = False,
    ) -> views.CreatedToken:
        """Makes an enrolment token; its secret is in the answer, and never again.

        The population is made if there is none of this name. `user` says whose devices it enrols, where the population's
        unit of privacy is the user. It enrols 1,000 clients unless `uses_max` says how many, or `unlimited_uses` lets it
        enrol any number. It ends after 30 days unless `expires_in_seconds` says when, or `no_expiry` lets it go on until
        it is revoked.
        """
        said = {"user": user, "uses_max": uses_max, "expires_in_seconds": expires_in_seconds}
        body = {"population": population, "unlimited_uses": unlimited_uses, "no_expiry": no_expiry, **said}
        answer = self._connection.ask("POST", "tokens", body)
        return views.filled(views.CreatedToken, answer)

    def tokens(self) -> list[views.TokenView]:
        """Lists enrolment tokens, the oldest first, without their secrets."""
        return self._listed(views.TokenView, "tokens")

    def revoke_token(self, token_id: str) -> None:
        """Revokes an enrolment token. The clients that it has enrolled stay enrolled."""
        self._connection.ask("DELETE", f"tokens/{segment(token_id)}")

    def revoke_token_and_clients(self, token_id: str) -> views.RevokedTokenClients:
        """Revokes an enrolment token and every client that enrolled with it. It needs an admin's key."""
        answer = self._connection.ask("POST", f"tokens/{segment(token_id)}/revoke-clients")
        return views.filled(views.RevokedTokenClients, answer)

    def clients_of_token(self, token_id: str) -> Iterator[views.ClientView]:
        """Lists the clients that enrolled with a token, the newest first. It needs an admin's key."""
        return self._paged(views.ClientView, f"tokens/{segment(token_id)}/clients", "before", "id")

    def create_api_key(self, name: str, role: Literal["viewer", "operator", "admin"]) -> views.CreatedApiKey:
        """Makes an API key; its secret is in the answer, and never again. `name` says who will use it, and for what."""
        answer = self._connection.ask("POST", "api-keys", {"name": name, "role": role})
        return views.filled(views.CreatedApiKey, answer)

    def api_keys(self) -> list[views.ApiKeyView]:
        """Lists API keys, the oldest first, without their secrets."""
        return self._listed(views.ApiKeyView, "api-keys")

    def revoke_api_key(self, key_id: str) -> None:
        """Revokes an API key. A key cannot revoke itself, so that there is always an admin left."""
        self._connection.ask("DELETE", f"api-keys/{segment(key_id)}")

    def client(self, client_id: str) -> views.ClientView:
        """Shows a client, with the token with which it enrolled. It needs an admin's key."""
        return views.filled(views.ClientView, self._connection.get(f"clients/{segment(client_id)}"))

    def revoke_client(self, client_id: str, *, keep_token_open: bool = False) -> views.RevokedClient:
        """Revokes a client's key: the coordinator takes no request of it any more.

        The token with which it enrolled is closed to new clients, and the others that it enrolled go on. With
        `keep_token_open` it stays open, and a device that still has it can come back with a new key.
        """
        query = "?keep_token_open=true" if keep_token_open else ""
        answer = self._connection.ask("POST", f"clients/{segment(client_id)}/revoke{query}")
        return views.filled(views.RevokedClient, answer)

    def _change(self, task: TaskLike, verb: str) -> views.TaskView:
        return views.filled(views.TaskView, self._connection.ask("POST", f"{task_path(task)}/{verb}"))

    def _listed(self, kind: type[_V], path: str) -> list[_V]:
        return [views.filled(kind, row) for row in self._connection.get(path)]

    def _paged(self, kind: type[_V], path: str, bound: str, key: str, **asked: str | None) -> Iterator[_V]:
        """The rows of all pages: the next one begins behind the last row's key."""
        said = {name: value for name, value in asked.items() if value is not None}
        query: dict[str, object] = {"limit": PAGE_ROWS, **said}
        while True:
            page = self._connection.get(path, query)
            for row in page:
                yield views.filled(kind, row)
            if len(page) < PAGE_ROWS:
                return
            query[bound] = page[-1][key]

    def _rounds_from(self, task: TaskLike, number: int) -> list[views.RoundView]:
        """The rounds from a number on, the oldest first."""
        rows = []
        for row in self.rounds(task):
            if row["number"] < number:
                break
            rows.append(row)
        return rows[::-1]


def _id(task: TaskLike) -> str:
    return task if isinstance(task, str) else task["id"]
