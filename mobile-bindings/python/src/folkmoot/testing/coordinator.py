"""A coordinator that lives as long as a test."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _program
from .._buffers import ArrayLike
from .._program import Source
from ..admin import Admin, views
from ..client import Client
from ..errors import FolkmootError
from ..export import weights
from .clients import SimulatedClients

START_SECONDS = 60.0
"""The time in which the coordinator must say that it serves."""
WAIT_SECONDS = 60.0
"""The longest wait, if none is given."""
POLL_SECONDS = 0.05
"""The pause between two queries for a condition that a test waits for."""
_SHOWN_LOG_CHARACTERS = 4000


class StartError(FolkmootError):
    """The coordinator has not started, or a command has failed. The text is what the program said."""


class WaitError(FolkmootError, TimeoutError):
    """A test has waited too long. The text names the awaited event, and the events that happened instead."""


class Coordinator:
    """A coordinator of its own for a test: the real program in a temporary folder, on a free port of this machine, over TLS.

    Use it as a context manager, or call `close`. It also ends with the interpreter.
    """

    def __init__(self, folder: Source | None = None, *, program: Source | None = None) -> None:
        """Starts the coordinator, and returns when it serves.

        `folder` gets its data and its log; by default it is a temporary folder, which is deleted at the end. A folder that was used
        before is continued. `program` is the path of the command-line program. By default, `FOLKMOOT_PROGRAM` and then the PATH
        are searched. The coordinator gets no `folkmoot.toml` and no variable `FOLKMOOT_*` of yours, so it never uses your database.

        Raises BadOptionError if the program cannot be found, and StartError if it does not serve.
        """
        self._program = _program.find(program, "is the coordinator")
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="folkmoot-testing-")
            folder = self._temporary.name
        # The program runs in a folder of its own, so relative paths would mean others there.
        self.folder = Path(os.path.abspath(folder))
        """The folder of the data and of `coordinator.log`."""
        data = self.folder / "data"
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.process = self._started(data)
        """The process of the coordinator. A test may kill it."""
        self._end = weakref.finalize(self, _close, self.process, self._temporary)
        serving = self._serving()
        self.url: str = serving["url"]
        """The address: `https://127.0.0.1:PORT`."""
        self.certificate = data / "ca.pem"
        """The path of the certificate that clients trust."""
        self.api_key: str = serving.get("first_api_key") or self._kept_key(data)
        """The API key of an admin."""
        self.environment = {
            **_environment(),
            "FOLKMOOT_URL": self.url,
            "FOLKMOOT_CA": str(self.certificate),
            "FOLKMOOT_API_KEY": self.api_key,
        }
        """The environment of a process that uses the command line or `Admin.from_environment`."""
        self.admin = Admin(self.url, self.api_key, self.certificate)
        """The administrative API."""

    def call(self, *arguments: str) -> Any:
        """Runs an operator's command, such as `call("task", "list")`, and returns its JSON.

        Raises StartError if the command fails.
        """
        command = [self._program, *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(f"`folkmoot {' '.join(arguments)}` failed: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def create_task(self, description: Mapping[str, Any] | Source, model: Source) -> str:
        """Creates and starts a task, and returns its id.

        `description` is a dictionary, the path of a TOML file, or a text of TOML, which has several lines. `model` is the path
        of an ONNX file.

        Raises StartError or AdminRefusedError with the faults of the description.
        """
        if isinstance(description, Mapping):
            return self.admin.create_task(description, model, activate=True)["id"]
        path = Path(description)
        if "\n" in str(description):
            path = self.folder / "created-task.toml"
            path.write_text(str(description), encoding="utf-8")
        # The program reads TOML with every version of Python.
        created: dict[str, str] = self.call("task", "create", str(path), "--model", os.fspath(model), "--activate")
        return created["id"]

    def create_token(self, population: str) -> str:
        """Returns a new enrolment token of a population."""
        return self.admin.create_token(population)["token"]

    def client(self, task: str, state_directory: Source | None = None, **options: Any) -> Client:
        """Opens a client with a token of the task's population. It trains on the CPU unless you set `device`.

        `state_directory` is a new folder by default. `options` are those of `folkmoot.Client`.
        """
        state = tempfile.mkdtemp(prefix="client-", dir=self.folder) if state_directory is None else state_directory
        population = self.admin.task(task)["description"]["population"]
        return Client(
            self.url,
            state_directory=state,
            enrolment_token=self.create_token(population),
            certificate=self.certificate,
            **{"device": "cpu", **options},
        )

    def simulated_clients(
        self, task: str, x: ArrayLike, y: ArrayLike, *, count: int = 2, seed: int = 0, **options: Any
    ) -> SimulatedClients:
        """Returns clients that take part in the task beside yours: a context manager that runs them in the background.

        The rows of `x` and `y` are shuffled with `seed` and divided among `count` clients. `options` are those of
        `folkmoot.Client`.
        """
        return SimulatedClients((self.client(task, **options) for _ in range(count)), x, y, seed)

    def rounds(self, task: str) -> list[views.RoundView]:
        """Returns the task's rounds, the oldest first."""
        return list(self.admin.rounds(task))[::-1]

    def wait_for_rounds(self, task: str, rounds: int, *, seconds_max: float = WAIT_SECONDS) -> list[views.RoundView]:
        """Waits until this many rounds of the task are committed, and returns all rounds, the oldest first.

        Raises WaitError if they are not committed in time.
        """
        until = time.monotonic() + seconds_max
        while True:
            found = self.rounds(task)
            committed = sum(one["phase"] == "committed" for one in found)
            if committed >= rounds:
                return found
            if time.monotonic() >= until:
                raise WaitError(
                    f"{committed} of {rounds} rounds were committed in {seconds_max:g} seconds. {self._happened(found)} "
                    f"The coordinator's log ends with:\n{self.log()}"
                )
            time.sleep(POLL_SECONDS)

    def weights(self, task: str, version: int | None = None) -> dict[str, Any]:
        """Returns the weights of a version, by default the newest: float32 arrays by name. Needs the package `onnx`."""
        path = self.folder / "downloaded.onnx"
        self.admin.download(task, path, version)
        return weights(path)

    def log(self) -> str:
        """Returns the end of the coordinator's log."""
        text = (self.folder / "coordinator.log").read_text(encoding="utf-8", errors="replace")
        return text[-_SHOWN_LOG_CHARACTERS:]

    def close(self) -> None:
        """Ends the coordinator, and deletes its temporary folder. Calling it again has no effect."""
        self._end()

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _happened(self, rounds: list[views.RoundView]) -> str:
        """Says how the rounds ended, and what became of the assignments of the last one."""
        if not rounds:
            return "No round was opened."
        phases = ", ".join(f"{one['number']} {one['phase']} {one['reason'] or ''}".strip() for one in rounds)
        dropped = [one for row in rounds[-2:] for one in self.admin.round(row["id"])["dropped"]]
        lost = ", ".join(f"{one['count']} {one['kind']} {one['reason'] or ''}".strip() for one in dropped)
        return f"The rounds are: {phases}. Without an update in the last two: {lost or 'none'}."

    def _started(self, data: Path) -> subprocess.Popen[bytes]:
        """Starts the program in its own folder, where the caller's `folkmoot.toml` is not read."""
        command = [self._program, "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--json"]
        try:
            with (self.folder / "coordinator.log").open("wb") as log:
                return subprocess.Popen(
                    command, cwd=data, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
                )
        except OSError as error:
            if self._temporary is not None:
                self._temporary.cleanup()
            raise StartError(f"{self._program} cannot be run: {error.strerror}; {_program.ADVICE}") from None

    def _kept_key(self, data: Path) -> str:
        """Returns the key that the program made when the folder was new. It says the key only then."""
        try:
            return (data / "first-api-key").read_text(encoding="utf-8").strip()
        except OSError as error:
            self.close()
            raise StartError(
                f"the folder was used before, and its API key is missing: {error}; give a new folder"
            ) from None

    def _serving(self) -> dict[str, Any]:
        """Waits until the coordinator serves, and returns what it says."""
        assert self.process.stdout is not None, "it is a pipe"
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            # It also ends the wait for its line.
            self.process.kill()

        patience = threading.Timer(START_SECONDS, give_up)
        patience.daemon = True
        patience.start()
        try:
            line = self.process.stdout.readline()
        except BaseException:
            self.close()
            raise
        finally:
            patience.cancel()
        with contextlib.suppress(ValueError):
            serving = json.loads(line)
            if isinstance(serving, dict) and "url" in serving:
                return serving
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_program.STOP_SECONDS)
        _program.end(self.process)
        ended = (
            f"within {START_SECONDS:g} seconds"
            if is_late.is_set()
            else f"and ended with code {self.process.returncode}"
        )
        said = line.decode("utf-8", "replace") + self.log()
        self.close()
        raise StartError(f"the coordinator did not start {ended}: {said}")


def _environment() -> dict[str, str]:
    """Returns the environment without the program's settings, which could name the database of another coordinator."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FOLKMOOT_")}


def _close(process: subprocess.Popen[bytes], temporary: tempfile.TemporaryDirectory[str] | None) -> None:
    _program.end(process, WAIT_SECONDS)
    if process.stdout is not None:
        process.stdout.close()
    if temporary is not None:
        temporary.cleanup()
