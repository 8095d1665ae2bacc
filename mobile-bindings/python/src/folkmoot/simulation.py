"""Runs a task over virtual clients on this machine: `folkmoot simulate`, for notebooks."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, Union

from . import _buffers, _program, _toml
from ._buffers import ArrayLike
from ._functions import FunctionError, Functions
from ._notebook.bar import Bar
from ._program import Source
from .errors import BadOptionError, FolkmootError
from .simulated import Simulated, SimulatedRound
from .strategies import Aggregate, Finalize, Select

POLL_SECONDS = 0.05
"""The pause between two checks for rounds that have ended."""
PURPOSE = "runs simulations"


class SimulationError(FolkmootError):
    """The simulation failed. The text is the program's error message, with the file and the fault; or the traceback of your own
    function, whose exception is `__cause__`."""


Progress = Union[bool, Callable[[SimulatedRound], object], None]
"""Whether to show a progress bar, or a function that is called with each round. None shows the bar in terminals, and with tqdm in
notebooks."""


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
    contributions: bool = False,
    progress: Progress = None,
    select: Select | None = None,
    aggregate: Aggregate | None = None,
    finalize: Finalize | None = None,
    cancel: threading.Event | None = None,
    program: Source | None = None,
) -> Simulated:
    """Runs a task over virtual clients until it has ended, and returns its rounds. Nothing leaves this machine.

    `task` and `world` are paths of TOML files, or dictionaries with the same keys. `model` is an ONNX file. `data` is
    distributed to the clients: a file or folder that `folkmoot client` can read, or arrays `(x, y)`. You may leave it
    out if the world has `synthetic`. Versions are evaluated on `held_out`, or on a fifth of the data. `partition` is
    `iid`, `natural`, `shards:2`, `dirichlet:0.5`, `quantity_skew:1.5` or `feature_skew:0.1`. The same `seed` gives the
    same rounds.

    `output` is a folder for the model and a report. With `resume`, the same call continues an interrupted simulation.
    `contributions` computes how much each client contributes to the held-out metric. `progress` is a function that is called
    with each round when it has ended; True shows a progress bar, and False none. By default, a terminal has one, and with tqdm
    a notebook. `program` is the path of the command-line program. By default, `FOLKMOOT_PROGRAM` and then the PATH are searched.

    `select(clients, draw)`, `aggregate(updates, commit)` and `finalize(weights, aggregate, commit)` are functions of your own, in place
    of the task's selection, aggregator and finalizer. They run in this thread, and `folkmoot.strategies` describes their arguments.
    They only simulate: for production, write the same as a component.

    Setting the event `cancel` in another thread ends the simulation with a SimulationError.

    Raises SimulationError, also if one of your functions fails, or BadOptionError if the program cannot be found.
    """
    found = _program.find(program, PURPOSE)
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
            contributions=contributions,
            output=folder,
            results="jsonl",
            functions=None if functions is None else ",".join(functions.parts),
        )
        wanted = False if callable(progress) else progress
        with Bar(wanted, "simulating", partial(_rounds_wanted, task), "rounds") as bar:
            rows = _Rows(folder / "rounds.jsonl", progress if callable(progress) else partial(_show, bar))
            summary: dict[str, Any] = json.loads(
                _run(arguments, scratch, partial(_look, rows, cancel), rows.close, functions)
            )
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
    """Returns the program's arguments. Writes values that are not in a file yet to files in `scratch`."""
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


def _show(bar: Bar, row: SimulatedRound) -> None:
    metric = row["held_out_metric"]
    bar.show(row["round_number"], "" if metric is None else f"held out {metric:.4g}")


def _rounds_wanted(task: Source | Mapping[str, Any]) -> int | None:
    """Returns the number of rounds after which the task stops; None if it is not known."""
    from .admin import files

    try:
        rounds = files.description(task)["stop"]["rounds"]
    # The program reads the task too, and says what is wrong with it.
    except (BadOptionError, KeyError, TypeError):
        return None
    return rounds if isinstance(rounds, int) else None


def _look(rows: _Rows, cancel: threading.Event | None) -> None:
    rows.read()
    if cancel is not None and cancel.is_set():
        raise SimulationError("the simulation was cancelled")


class _Rows:
    """The file of rounds, which is read while it is being written."""

    def __init__(self, path: Path, progress: Callable[[SimulatedRound], object]) -> None:
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
            raise BadOptionError(f"{arguments[0]} cannot be run: {error.strerror}; {_program.ADVICE}") from None
        try:
            while process.poll() is None:
                read()
                if functions is None:
                    # The end of the program ends the pause.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(POLL_SECONDS)
                else:
                    functions.step(POLL_SECONDS)
            read()
        except FunctionError as error:
            raise SimulationError(str(error)) from error.__cause__
        finally:
            _program.end(process)
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
    # The program reads arrays in C order.
    x, y = (_buffers.numpy.asarray(one, order="C") for one in given)
    is_whole = y.dtype.kind in "iub"
    _buffers.numpy.savez(path, features=x.astype("float32"), labels=y.astype("int64" if is_whole else "float32"))
    return str(path)
