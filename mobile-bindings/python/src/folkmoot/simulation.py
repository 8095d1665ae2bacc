"""Runs a task over virtual clients on this machine: `folkmoot simulate`, for notebooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, TypedDict, Union

from . import _buffers, _toml
from ._buffers import ArrayLike
from ._functions import FunctionError, Functions
from .errors import BadOptionError, FolkmootError
from .strategies import Aggregate, Finalize, Select

POLL_SECONDS = 0.05
"""The pause between two checks for rounds that have ended."""
_STOP_SECONDS = 5.0
_PROGRAM = "folkmoot"

Source = Union[str, "os.PathLike[str]"]


class SimulationError(FolkmootError):
    """The simulation failed. The text is the program's error message, with the file and the fault; or the traceback of your own
    function, whose exception is `__cause__`."""


class SimulatedRound(TypedDict):
    """A round of a simulation. Seconds are virtual, from the start. `outcome` is `committed` or `abandoned`."""

    round_number: int
    version: int | None
    outcome: str
    reason: str | None
    virtual_seconds: float
    duration_seconds: float
    drawn: int
    reported: int
    dropped: int
    staleness_mean: float | None
    staleness_max: int | None
    bytes_down: int
    bytes_up: int
    client_rounds: int
    update_norm_median: float | None
    clipping_norm: float | None
    train_loss: float | None
    train_accuracy: float | None
    held_out_loss: float | None
    held_out_metric: float | None
    fine_tuned_loss: float | None
    fine_tuned_metric: float | None
    client_metric_mean: float | None
    client_metric_deviation: float | None
    client_metric_worst_tenth: float | None
    client_metric_best_tenth: float | None


@dataclass(frozen=True)
class Simulated:
    """The result of a simulation. `pandas.DataFrame(simulated.rounds)` converts it to a table."""

    rounds: list[SimulatedRound]
    """One row per round, in order."""
    summary: dict[str, Any]
    """The summary, as `folkmoot simulate --json` prints it: `held_out_metric`, `virtual_seconds`, `bytes_up`, …"""
    output: Path | None
    """The folder with `model.onnx`, `report.html` and `world.toml`, if you passed one."""


def simulate(
    task: Source | Mapping[str, Any],
    model: Source,
    data: Source | tuple[ArrayLike, ArrayLike] | None = None,
    *,
    held_out: Source | tuple[ArrayLike, ArrayLike] | None = None,
    clients: int | None = None,
    partition: str | None = None,
    seed: int | None = None,
    hours: float | None = None,
    world: Source | Mapping[str, Any] | None = None,
    threads: int | None = None,
    evaluate_every: int = 1,
    label_column: str | None = None,
    group_column: str | None = None,
    flat: bool = False,
    output: Source | None = None,
    resume: bool = False,
    progress: Callable[[SimulatedRound], object] | None = None,
    select: Select | None = None,
    aggregate: Aggregate | None = None,
    finalize: Finalize | None = None,
    program: Source | None = None,
) -> Simulated:
    """Runs a task over virtual clients until it has ended, and returns its rounds. Nothing leaves this machine.

    `task` and `world` are paths of TOML files, or dictionaries with the same keys. `model` is an ONNX file. `data` is
    distributed to the clients: a file or folder that `folkmoot client` can read, or arrays `(x, y)`. You may leave it
    out if the world has `synthetic`. Versions are evaluated on `held_out`, or on a fifth of the data. `partition` is
    `iid`, `natural`, `shards:2`, `dirichlet:0.5`, `quantity_skew:1.5` or `feature_skew:0.1`. The same `seed` gives the
    same rounds.

    `output` is a folder for the model and a report. With `resume`, the same call continues an interrupted simulation.
    `progress` is called with each round when it has ended. `program` is the path of the command-line program. By
    default, `FOLKMOOT_PROGRAM` and then the PATH are searched.

    `select(clients, draw)`, `aggregate(updates, commit)` and `finalize(weights, aggregate, commit)` are functions of your own, in place
    of the task's selection, aggregator and finalizer. They run in this thread, and `folkmoot.strategies` describes their arguments.
    They only simulate: for production, write the same as a component.

    Raises SimulationError, also if one of your functions fails, or BadOptionError if the program cannot be found.
    """
    found = _program(program)
    functions = _functions(select, aggregate, finalize)
    with tempfile.TemporaryDirectory(prefix="folkmoot-simulation-") as name:
        scratch = Path(name)
        folder = Path(output) if output is not None else scratch / "output"
        arguments = [found, "simulate", _file(task, scratch / "task.toml"), "--json"]
        arguments += _options(
            scratch,
            model=model,
            data=data,
            held_out=held_out,
            world=world,
            clients=clients,
            partition=partition,
            seed=seed,
            hours=hours,
            threads=threads,
            evaluate_every=evaluate_every,
            label_column=label_column,
            group_column=group_column,
            flat=flat,
            resume=resume,
            output=folder,
            results="jsonl",
            functions=None if functions is None else ",".join(functions.parts),
        )
        rows = _Rows(folder / "rounds.jsonl", progress)
        summary: dict[str, Any] = json.loads(_run(arguments, scratch, rows.read, rows.close, functions))
    # The report is in a temporary folder that is deleted.
    summary.pop("output", None)
    return Simulated(rows.all, summary, None if output is None else folder)


def _options(
    scratch: Path,
    *,
    data: Source | tuple[ArrayLike, ArrayLike] | None,
    held_out: Source | tuple[ArrayLike, ArrayLike] | None,
    world: Source | Mapping[str, Any] | None,
    **others: object,
) -> list[str]:
    """Returns the program's arguments. What is no file yet becomes one in `scratch`."""
    options = {
        "data": _data(data, scratch / "data.npz"),
        "held_out": _data(held_out, scratch / "held-out.npz"),
        "world": None if world is None else _file(world, scratch / "world.toml"),
        **others,
    }
    arguments = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            arguments.append(f"{flag}={value}")
    return arguments


class _Rows:
    """The file of rounds, which is read while it is being written."""

    def __init__(self, path: Path, progress: Callable[[SimulatedRound], object] | None) -> None:
        self._path = path
        self._progress = progress
        self._file: IO[bytes] | None = None
        self._rest = b""
        self.all: list[SimulatedRound] = []
        # Delete the file of an earlier run.
        path.unlink(missing_ok=True)

    def read(self) -> None:
        """Reads new rounds and reports them."""
        if self._file is None:
            if not self._path.is_file():
                return
            self._file = self._path.open("rb")
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            row: SimulatedRound = json.loads(line)
            self.all.append(row)
            if self._progress is not None:
                self._progress(row)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()


def _run(
    arguments: list[str],
    scratch: Path,
    read: Callable[[], None] = lambda: None,
    close: Callable[[], None] = lambda: None,
    functions: Functions | None = None,
) -> str:
    """Runs the program to its end and returns its output. Calls `read` now and then, the functions when the program asks for
    them, and at last `close`. An exception in between stops the program."""
    # Without functions, files instead of pipes, because nobody would read a pipe while this waits for rounds.
    with (scratch / "said").open("w+b") as said, (scratch / "complained").open("w+b") as complained:
        try:
            if functions is None:
                process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=said, stderr=complained)
            else:
                process = subprocess.Popen(arguments, stdin=PIPE, stdout=PIPE, stderr=complained)
                functions.begin(process)
        except OSError as error:
            raise BadOptionError(f"{arguments[0]} cannot be run: {error.strerror}; {_ADVICE}") from None
        try:
            while process.poll() is None:
                read()
                if functions is None:
                    time.sleep(POLL_SECONDS)
                else:
                    functions.step(POLL_SECONDS)
            read()
        except FunctionError as error:
            raise SimulationError(str(error)) from error.__cause__
        finally:
            _end(process)
            close()
            if functions is not None:
                said.write(functions.end())
        said.seek(0)
        complained.seek(0)
        if process.returncode != 0:
            words = complained.read().decode("utf-8", "replace").strip()
            raise SimulationError(
                words.removeprefix("error: ") or f"the program ended with exit code {process.returncode}"
            )
        return said.read().decode("utf-8")


def _functions(select: Select | None, aggregate: Aggregate | None, finalize: Finalize | None) -> Functions | None:
    """Returns the functions that were given; `None` without any."""
    given = {"select": select, "aggregate": aggregate, "finalize": finalize}
    for name, function in given.items():
        if function is not None and not callable(function):
            raise BadOptionError(f"{name} is {function!r}; give a function")
    if all(function is None for function in given.values()):
        return None
    if _buffers.numpy is None:
        raise BadOptionError("functions get NumPy arrays; run `pip install numpy`")
    return Functions(select, aggregate, finalize)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_ADVICE = (
    "build it from a clone with `cargo build --release`, and set FOLKMOOT_PROGRAM to target/release/folkmoot, "
    "put that folder on the PATH, or give program="
)


def _program(given: Source | None) -> str:
    named = os.fspath(given) if given is not None else os.environ.get("FOLKMOOT_PROGRAM") or _PROGRAM
    found = shutil.which(named)
    if found is None:
        raise BadOptionError(f"cannot find the program `{named}`, which runs simulations: {_ADVICE}")
    return found


def _file(given: Source | Mapping[str, Any], path: Path) -> str:
    """Returns the path of a file with these settings."""
    if not isinstance(given, Mapping):
        return os.fspath(given)
    path.write_text(_toml.text(given), encoding="utf-8")
    return str(path)


def _data(given: Source | tuple[ArrayLike, ArrayLike] | None, path: Path) -> str | None:
    """Returns the path of a file or folder with these examples."""
    if given is None or isinstance(given, (str, os.PathLike)):
        return None if given is None else os.fspath(given)
    if _buffers.numpy is None:
        raise BadOptionError("arrays need NumPy; run `pip install numpy`, or give the path of a file")
    x, y = (_buffers.numpy.asarray(one) for one in given)
    is_whole = y.dtype.kind in "iub"
    _buffers.numpy.savez(path, features=x.astype("float32"), labels=y.astype("int64" if is_whole else "float32"))
    return str(path)
