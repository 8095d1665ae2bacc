"""The administrative API of one coordinator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

from ..errors import BadOptionError
from . import files, looks, signed_in, views
from .connection import Connection
from .filling import filled
from .looking import Looking, segment, task_path
from .rollouts import Rollouts
from .uploading import Uploading
from .waiting import Waiting

PAGE_ROWS = 100
"""The number of rows per request: the maximum that a coordinator returns."""
TaskLike = views.TaskLike
Source = files.Source
_V = TypeVar("_V")


class Admin(Uploading, Looking, Rollouts, Waiting):
    """The administrative API of one coordinator, used with one API key.

    Answers are dictionaries, described in `folkmoot.admin.views`, with the same keys in each row. Lists are iterators
    that request the next page when it is needed, newest first unless stated otherwise. Every method raises
    `AdminRefusedError` if the coordinator refuses the request, and UnreachableError if there is no answer. Requests
    that change nothing are retried first. You can use it from several threads.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        certificate: str | bytes | os.PathLike[str] | None = None,
        *,
        timeout_seconds: float = 30.0,
    ) -> None:
        """Creates the connection. Nothing is sent yet.

        `url` is `https://host[:port]`, or `http://` for this machine only. `api_key` is `ID.SECRET`. `certificate` is
        the coordinator's `ca.pem`: a path, or PEM as bytes. By default, the system's certificates are trusted. A
        request fails if no data arrives for `timeout_seconds`.

        Raises BadOptionError.
        """
        self._connection = Connection(url, api_key, certificate, timeout_seconds)

    @classmethod
    def from_environment(cls) -> Admin:
        """Creates an admin from `FOLKMOOT_URL`, `FOLKMOOT_API_KEY` and the optional `FOLKMOOT_CA`, so that a notebook
        contains no key.

        Raises BadOptionError if a variable is missing.
        """
        missing = [name for name in ("FOLKMOOT_URL", "FOLKMOOT_API_KEY") if not os.environ.get(name)]
        if missing:
            raise BadOptionError(
                f"the environment has no {' and no '.join(missing)}; set the missing variables, or call Admin(url, api_key)"
            )
        certificate = os.environ.get("FOLKMOOT_CA") or None
        return cls(os.environ["FOLKMOOT_URL"], os.environ["FOLKMOOT_API_KEY"], certificate)

    def create_task(
        self,
        description: Mapping[str, Any] | Source,
        model: bytes | Source | views.ModelView,
        *,
        evaluation_data: views.EvaluationDataView | None = None,
        warm_start: tuple[TaskLike, int] | None = None,
        activate: bool = False,
    ) -> views.TaskView:
        """Creates a task and its model version 0, and starts the task if `activate` is true.

        `description` is the path of a TOML file, or a dictionary with the same keys (docs/reference/task.md). `model`
        is a path, bytes, or the result of `create_model`. `evaluation_data` is the result of `create_evaluation_data`.
        `warm_start` is a task and the number of its version whose weights the new task starts from.

        If the description is invalid, the coordinator refuses it, and `error.detail` lists all faults.
        """
        described = files.description(description)
        brought = model if isinstance(model, Mapping) else self.create_model(model)
        body: dict[str, Any] = {"description": described, "model": brought["model"], "activate": activate}
        if evaluation_data is not None:
            body["evaluation_data"] = evaluation_data["evaluation_data"]
        if warm_start is not None:
            body["warm_start"] = {"task_id": _id(warm_start[0]), "version": int(warm_start[1])}
        return filled(views.TaskView, self._connection.ask("POST", "tasks", body))

    def tasks(
        self,
        *,
        state: str | None = None,
        population: str | None = None,
        name: str | None = None,
        called: str | None = None,
    ) -> Iterator[views.TaskSummary]:
        """Lists tasks, optionally only those of this state and population, with this text in their name, or called so."""
        asked = {"state": state, "population": population, "name": name, "called": called}
        return self._paged(views.TaskSummary, "tasks", "before", "id", **asked)

    def task(self, task: TaskLike) -> views.TaskView:
        """Returns a task and its current state."""
        return filled(views.TaskView, self._connection.get(task_path(task)))

    def activate(self, task: TaskLike) -> views.TaskView:
        """Starts a draft task."""
        return self._change(task, "activate")

    def pause(self, task: TaskLike) -> views.TaskView:
        """Pauses a task: its open round is abandoned, and no new round is opened."""
        return self._change(task, "pause")

    def resume(self, task: TaskLike) -> views.TaskView:
        """Resumes a paused task."""
        return self._change(task, "resume")

    def cancel(self, task: TaskLike) -> views.TaskView:
        """Ends a task permanently. Its model versions are kept."""
        return self._change(task, "cancel")

    def rounds(self, task: TaskLike) -> Iterator[views.RoundView]:
        """Lists a task's rounds."""
        return self._paged(views.RoundView, f"{task_path(task)}/rounds", "before", "number")

    def round(self, round_id: str) -> views.RoundFunnelView:
        """Returns a round by its id, with the outcomes of its assignments."""
        return filled(views.RoundFunnelView, self._connection.get(f"rounds/{segment(round_id)}"))

    def stats(self, task: TaskLike) -> Iterator[views.RoundStatsView]:
        """Lists the traffic of a task's rounds, in bytes."""
        return self._paged(views.RoundStatsView, f"{task_path(task)}/stats", "before", "number")

    def evaluations(self, task: TaskLike) -> list[views.EvaluationView]:
        """Lists the evaluations of a task's versions, the oldest first."""
        return self._listed(views.EvaluationView, f"{task_path(task)}/evaluations")

    def class_evaluations(self, task: TaskLike, version: int | None = None) -> list[views.ClassEvaluationView]:
        """Lists the evaluations of a version, class by class. By default, this is the newest version."""
        number = "latest" if version is None else str(int(version))
        return self._listed(views.ClassEvaluationView, f"{task_path(task)}/evaluations/{number}")

    def versions(self, task: TaskLike) -> Iterator[views.VersionView]:
        """Lists a task's model versions."""
        return self._paged(views.VersionView, f"{task_path(task)}/versions", "before", "number")

    def download(self, task: TaskLike, path: Source, version: int | None = None, *, cluster: int | None = None) -> int:
        """Writes a model version as ONNX to a file and returns its number. By default, this is the newest version.

        If the task has clusters, it is the model of `cluster`, counted from 1, or of the one with the largest share of the
        clients.

        The file is written completely or not at all. An existing file is replaced.
        """
        number = "latest" if version is None else str(int(version))
        query = "" if cluster is None else f"?cluster={int(cluster)}"
        target = Path(path)
        partial = target.with_name(f"{target.name}.part")
        try:
            with partial.open("wb") as file:
                headers = self._connection.download(f"{task_path(task)}/versions/{number}/model{query}", file)
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
        """Sets the unit that a population's privacy guarantees protect, and the privacy budget that its tasks share.

        `unit` is `client`, or `user` for a person with all devices.

        Settings that you leave out are unchanged. Give `epsilon`, above 0 and at most 1000, and `delta`, between 0 and
        1, together. `no_budget` removes the budget. To raise or remove the budget, give a reason in `weaken`; it is
        recorded in the population's ledger.
        """
        said = {"unit": unit, "epsilon": epsilon, "delta": delta, "weaken": weaken}
        body = {name: value for name, value in said.items() if value is not None} | {"no_budget": no_budget}
        answer = self._connection.ask("POST", f"populations/{segment(population)}/privacy", body)
        return filled(views.PopulationView, answer)

    def privacy(self, task: TaskLike) -> views.Statement:
        """Returns what a task guarantees its clients, and how much of its budget it has spent."""
        return filled(views.Statement, self._connection.get(f"{task_path(task)}/privacy"))

    def ledger(self, population: str) -> Iterator[views.EntryView]:
        """Lists the entries of a population's privacy ledger, the oldest first."""
        return self._paged(views.EntryView, f"populations/{segment(population)}/ledger", "after", "sequence")

    def create_token(
        self,
        population: str,
        *,
        name: str | None = None,
        user: str | None = None,
        uses_max: int | None = None,
        unlimited_uses: bool = False,
        expires_in_seconds: int | None = None,
        no_expiry: bool = False,
        jwt_keys: Sequence[str] = (),
    ) -> views.CreatedToken:
        """Creates an enrolment token. The answer contains its secret, which is shown only once.

        A population that does not exist is created. If its clients are sites, `name` is the site's name. If it protects
        users, `user` names whose devices the token enrols. The token enrols 1,000 clients (one, for a site) unless you
        set `uses_max` or `unlimited_uses`. It expires after 30 days unless you set `expires_in_seconds` or `no_expiry`.
        With `jwt_keys` (public keys as PEM), clients enrol with JWTs of your own server, and the answer is the audience.
        """
        said = {"name": name, "user": user, "uses_max": uses_max, "expires_in_seconds": expires_in_seconds}
        flags = {"unlimited_uses": unlimited_uses, "no_expiry": no_expiry, "jwt_keys": list(jwt_keys)}
        body = {"population": population, **said, **flags}
        answer = self._connection.ask("POST", "tokens", body)
        return filled(views.CreatedToken, answer)

    def tokens(self) -> list[views.TokenView]:
        """Lists enrolment tokens, the oldest first, without their secrets."""
        return self._listed(views.TokenView, "tokens")

    def revoke_token(self, token_id: str) -> None:
        """Revokes an enrolment token. The clients that it enrolled stay enrolled."""
        self._connection.ask("DELETE", f"tokens/{segment(token_id)}")

    def revoke_token_and_clients(self, token_id: str) -> views.RevokedTokenClients:
        """Revokes an enrolment token and every client that enrolled with it. Requires an admin's key."""
        answer = self._connection.ask("POST", f"tokens/{segment(token_id)}/revoke-clients")
        return filled(views.RevokedTokenClients, answer)

    def clients_of_token(self, token_id: str) -> Iterator[views.ClientView]:
        """Lists the clients that enrolled with a token, the newest first. Requires an admin's key."""
        return self._paged(views.ClientView, f"tokens/{segment(token_id)}/clients", "before", "id")

    def create_api_key(
        self, name: str, role: views.Role, *, expires_in_seconds: int | None = None
    ) -> views.CreatedApiKey:
        """Creates an API key. The answer contains its secret, which is shown only once. `name` says who will use it and
        for what. Without `expires_in_seconds`, the key is valid until it is revoked.
        """
        body: dict[str, Any] = {"name": name, "role": role}
        if expires_in_seconds is not None:
            body["expires_in_seconds"] = expires_in_seconds
        answer = self._connection.ask("POST", "api-keys", body)
        return filled(views.CreatedApiKey, answer)

    def api_keys(self) -> list[views.ApiKeyView]:
        """Lists API keys, the oldest first, without their secrets."""
        return self._listed(views.ApiKeyView, "api-keys")

    def rotate_api_key(self, key_id: str, *, overlap_seconds: int = 86_400) -> views.CreatedApiKey:
        """Gives an API key a new secret, which is shown only once. The old secret stays valid for `overlap_seconds`: 0 to
        2,592,000 (30 days). Use 0 if somebody else may have it.
        """
        answer = self._connection.ask(
            "POST", f"api-keys/{segment(key_id)}/rotate", {"overlap_seconds": overlap_seconds}
        )
        return filled(views.CreatedApiKey, answer)

    def revoke_api_key(self, key_id: str) -> None:
        """Revokes an API key. A key cannot revoke itself, so there is always an admin left."""
        self._connection.ask("DELETE", f"api-keys/{segment(key_id)}")

    def sessions(self) -> list[signed_in.OpenSessionView]:
        """Lists the newest open sessions of the organisation's keys and people, at most 1,000. Requires an admin's key."""
        return self._listed(signed_in.OpenSessionView, "sessions")

    def end_session(self, session_id: str) -> None:
        """Ends a session of a key or a person at once. Requires an admin's key."""
        self._connection.ask("DELETE", f"sessions/{segment(session_id)}")

    def end_sessions_of(self, provider: str, subject: str) -> signed_in.EndedSessionsView:
        """Ends all sessions of a person at once. `subject` is the person's id at the identity provider. Requires an
        admin's key.
        """
        body = {"provider": provider, "subject": subject}
        return filled(signed_in.EndedSessionsView, self._connection.ask("POST", "sessions/end", body))

    def organisations(self) -> list[looks.OrganisationView]:
        """Lists the organisations that share the coordinator, the oldest first. Requires a system key."""
        return self._listed(looks.OrganisationView, "organisations")

    def create_organisation(self, name: str) -> looks.CreatedOrganisation:
        """Creates an organisation. The answer contains its first API key, which is shown only once. Requires a system
        key.
        """
        return filled(looks.CreatedOrganisation, self._connection.ask("POST", "organisations", {"name": name}))

    def set_quotas(self, organisation_id: str, quotas: looks.QuotasView) -> looks.QuotasView:
        """Replaces an organisation's quotas. Requires a system key."""
        answer = self._connection.ask("POST", f"organisations/{segment(organisation_id)}/quotas", dict(quotas))
        return filled(looks.QuotasView, answer)

    def usage(self, first: str | None = None, last: str | None = None) -> looks.UsageView:
        """Returns the organisation's quotas and usage. `first` and `last` are days (UTC), such as `2026-01-31`."""
        return filled(looks.UsageView, self._connection.get(f"usage{_days(first, last)}"))

    def usage_of_all(self, first: str | None = None, last: str | None = None) -> list[looks.DayUsageView]:
        """Lists the usage of every organisation. Requires a system key."""
        return self._listed(looks.DayUsageView, f"organisations/usage{_days(first, last)}")

    def close_organisation(self, organisation_id: str) -> looks.ClosedOrganisationView:
        """Closes an organisation forever: revokes its API keys, tokens and clients, and cancels its tasks. Its data
        stays. Requires a system key.
        """
        answer = self._connection.ask("POST", f"organisations/{segment(organisation_id)}/close")
        return filled(looks.ClosedOrganisationView, answer)

    def client(self, client_id: str) -> views.ClientView:
        """Returns a client and the token that it enrolled with. Requires an admin's key."""
        return filled(views.ClientView, self._connection.get(f"clients/{segment(client_id)}"))

    def revoke_client(self, client_id: str, *, keep_token_open: bool = False) -> views.RevokedClient:
        """Revokes a client's key: the coordinator refuses all further requests of the client.

        The token that it enrolled with is closed to new clients, but its other clients stay enrolled. With
        `keep_token_open`, the token stays open, and a device that still has it can enrol again with a new key.
        """
        query = "?keep_token_open=true" if keep_token_open else ""
        answer = self._connection.ask("POST", f"clients/{segment(client_id)}/revoke{query}")
        return filled(views.RevokedClient, answer)

    def _change(self, task: TaskLike, verb: str) -> views.TaskView:
        return filled(views.TaskView, self._connection.ask("POST", f"{task_path(task)}/{verb}"))

    def _listed(self, kind: type[_V], path: str) -> list[_V]:
        return [filled(kind, row) for row in self._connection.get(path)]

    def _paged(self, kind: type[_V], path: str, bound: str, key: str, **asked: str | None) -> Iterator[_V]:
        """Yields the rows of all pages. The next page starts after the last row's key."""
        said = {name: value for name, value in asked.items() if value is not None}
        query: dict[str, object] = {"limit": PAGE_ROWS, **said}
        while True:
            page = self._connection.get(path, query)
            for row in page:
                yield filled(kind, row)
            if len(page) < PAGE_ROWS:
                return
            query[bound] = page[-1][key]


def _days(first: str | None, last: str | None) -> str:
    days = {"from": first, "to": last}
    query = urlencode({name: day for name, day in days.items() if day is not None})
    return f"?{query}" if query else ""


def _id(task: TaskLike) -> str:
    return task if isinstance(task, str) else task["id"]
