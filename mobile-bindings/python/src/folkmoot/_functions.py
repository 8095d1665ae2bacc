"""Calls your own functions for a running simulation: the other side of `server/simulation/src/functions`, over the program's
standard input and output."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import operator
import queue
import struct
import subprocess
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

from . import _buffers
from .strategies import Aggregate, Client, Commit, Draw, Finalize, Select, Update, Updates, Values

PROTOCOL = 1
_HELLO, _AGGREGATE, _FINALIZE, _VALUES, _END, _SELECT = 1, 2, 3, 4, 5, 6
_MY_HELLO, _READ_UPDATES, _READ_WEIGHTS, _READ_AGGREGATE, _RESULT, _FAILED = 1, 2, 3, 4, 5, 6
_HEAD = struct.Struct("<BQ")
_REASON_BYTES_MAX = 64 << 10
_TEXT_BYTES_MAX = 64 << 20
"""The facts about 100,000 updates have less."""


class FunctionError(Exception):
    """A function failed, or the program does not follow the protocol."""


class _ProgramEndedError(Exception):
    """The program has ended while a function ran. Its own error says why."""


class _Frame(NamedTuple):
    kind: int
    content: bytearray


class _Reader(threading.Thread):
    """Reads the program's frames on a thread, so that a caller that waits for a frame can do other work."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="folkmoot-simulation", daemon=True)
        self._stream = stream
        self.frames: queue.SimpleQueue[_Frame | None] = queue.SimpleQueue()
        self.output = b""

    def run(self) -> None:
        try:
            while (head := self._stream.read(_HEAD.size)) and len(head) == _HEAD.size:
                kind, length = _HEAD.unpack(head)
                if kind == _END:
                    self.output = self._stream.read()
                    break
                if kind != _VALUES and length > _TEXT_BYTES_MAX:
                    break
                content = bytearray(length)
                if _fill(self._stream, content) < length:
                    break
                self.frames.put(_Frame(kind, content))
        finally:
            self._stream.close()
            self.frames.put(None)


def _fill(stream: IO[bytes], content: bytearray) -> int:
    view, done = memoryview(content), 0
    while done < len(content):
        count = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            break
        done += count
    return done


class Functions:
    """Your own functions, and their state between draws and commits."""

    def __init__(self, select: Select | None, aggregate: Aggregate | None, finalize: Finalize | None) -> None:
        parts = (("selection", select), ("aggregator", aggregate), ("finalizer", finalize))
        self.parts = [name for name, one in parts if one is not None]
        self._select = select
        self._aggregate = aggregate
        self._finalize = finalize
        self._shapes: dict[str, tuple[int, ...]] = {}
        # The state of each function, by the draw or the version with which it was kept.
        self._states: dict[int, dict[int, Any]] = {_SELECT: {}, _AGGREGATE: {}, _FINALIZE: {}}
        self._asking = threading.Lock()
        # The version for which a function runs.
        self._called: int | None = None

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Begins to read what a program writes. Its standard input and output are pipes."""
        assert process.stdin is not None and process.stdout is not None
        self._reader = _Reader(process.stdout)
        self._input = process.stdin
        self._reader.start()

    def step(self, seconds: float) -> None:
        """Waits for the program this long, and calls the function that it asks for.

        Raises FunctionError if the function fails."""
        try:
            frame = self._reader.frames.get(timeout=seconds)
        except queue.Empty:
            return
        if frame is None:
            return
        facts = json.loads(frame.content)
        if frame.kind == _HELLO:
            self._greet(facts)
        elif frame.kind in (_AGGREGATE, _FINALIZE):
            self._commit(frame.kind, facts)
        elif frame.kind == _SELECT and self._select is not None:
            self._draw(self._select, facts)
        else:
            raise FunctionError(
                f"the program sent an unknown frame of kind {frame.kind}; use a program of the package's version"
            )

    def end(self) -> bytes:
        """Closes the connection with a program that has ended. Returns what it wrote after the end of the simulation."""
        self._reader.join()
        with contextlib.suppress(OSError):
            self._input.close()
        return self._reader.output

    def _greet(self, facts: dict[str, Any]) -> None:
        if facts["protocol"] != PROTOCOL:
            raise FunctionError(
                f"the program has version {facts['protocol']} of the protocol, but this package has version {PROTOCOL}; "
                "use a program and a package of the same version"
            )
        self._shapes = {one["name"]: tuple(one["shape"]) for one in facts["tensors"]}
        with contextlib.suppress(_ProgramEndedError):
            self._send(_MY_HELLO, json.dumps({"protocol": PROTOCOL}).encode())

    def _draw(self, select: Select, facts: dict[str, Any]) -> None:
        clients = [Client(**one, _index=index) for index, one in enumerate(facts["clients"])]
        draw = Draw(facts["draw"], facts["round"], facts["version"], facts["count"], facts["seed"], None)

        def places() -> Any:
            found = [_place(one, clients) for one in select(clients, draw)]
            if len(set(found)) < len(found):
                raise ValueError("a client appears twice in the result; select each client at most once")
            return _buffers.numpy.asarray(found, "<u8")

        self._answer(_SELECT, draw.number, draw, places, f"select failed in round {draw.round}")

    def _commit(self, kind: int, facts: dict[str, Any]) -> None:
        version, counted = facts["version"], facts["updates"]
        commit = Commit(
            version=version,
            shapes=self._shapes,
            parameters=sum(math.prod(shape) for shape in self._shapes.values()),
            updates=counted if kind == _FINALIZE else len(counted),
            seed=facts.get("seed"),
            mean_staleness=facts.get("mean_staleness"),
            state=None,
        )
        call, name, dtype = self._prepared(kind, commit, counted)

        def values() -> Any:
            result = commit.flat(call(), dtype)
            _refuse_infinite(result)
            return result

        self._called = version
        try:
            self._answer(kind, version, commit, values, f"{name} failed for version {version}")
        finally:
            self._called = None

    def _answer(self, kind: int, number: int, asked: Draw | Commit, call: Callable[[], Any], failed: str) -> None:
        """Calls a function for a draw or a version, and sends its result."""
        states = self._states[kind]
        # The coordinator may repeat a draw or a version, always from the state of the previous one.
        for old in [one for one in states if one != number - 1]:
            del states[old]
        try:
            # A copy, so that a function can change it in place.
            asked.state = copy.deepcopy(states.get(number - 1))
            result = call()
        except _ProgramEndedError:
            return
        except Exception as error:
            text = _words(error)
            with contextlib.suppress(_ProgramEndedError):
                self._send(_FAILED, text.encode()[:_REASON_BYTES_MAX])
            raise FunctionError(f"{failed}:\n{text}") from error
        states[number] = asked.state
        with contextlib.suppress(_ProgramEndedError):
            self._send(_RESULT, result.tobytes())

    def _prepared(self, kind: int, commit: Commit, counted: Any) -> tuple[Callable[[], Values], str, str]:
        """Returns the call of a function, its name, and the type of its result."""
        if kind == _AGGREGATE and self._aggregate is not None:
            version = commit.version

            def read(update: int, updates: int, parameter: int, parameters: int) -> Any:
                if self._called != version:
                    raise ValueError(f"the updates of version {version} can be read only while it is aggregated")
                return self._read(update, updates, parameter, parameters)

            given = [Update(**facts, _index=index, _commit=commit, _read=read) for index, facts in enumerate(counted)]
            updates = Updates(given, commit, read, self._weights)
            aggregate = self._aggregate
            return lambda: aggregate(updates, commit), "aggregate", "<f8"
        if kind == _FINALIZE and self._finalize is not None:
            finalize = self._finalize
            return lambda: finalize(self._weights(), self._asked(_READ_AGGREGATE, "<f8"), commit), "finalize", "<f4"
        raise FunctionError(f"the program asks for a function that was not given, of kind {kind}")

    def _weights(self) -> Any:
        return self._asked(_READ_WEIGHTS, "<f4")

    def _read(self, update: int, updates: int, parameter: int, parameters: int) -> Any:
        wanted = struct.pack("<QQQQ", update, updates, parameter, parameters)
        return self._asked(_READ_UPDATES, "<f4", wanted).reshape(updates, parameters)

    def _asked(self, kind: int, dtype: str, content: bytes = b"") -> Any:
        # Threads of a function may read at the same time.
        with self._asking:
            self._send(kind, content)
            frame = self._reader.frames.get()
        if frame is None or frame.kind != _VALUES:
            raise _ProgramEndedError
        return _buffers.numpy.frombuffer(frame.content, dtype)

    def _send(self, kind: int, content: bytes) -> None:
        try:
            self._input.write(_HEAD.pack(kind, len(content)))
            self._input.write(content)
            self._input.flush()
        except OSError:
            raise _ProgramEndedError from None


def _place(one: Client | int, clients: Sequence[Client]) -> int:
    place = one._index if isinstance(one, Client) else operator.index(one)
    if not 0 <= place < len(clients):
        raise ValueError(f"there is no client {place}; {len(clients)} clients wait: return places below {len(clients)}")
    if isinstance(one, Client) and clients[place].key != one.key:
        raise ValueError("the result has a client of an earlier draw; return clients of this draw, or their places")
    return place


def _refuse_infinite(result: Any) -> None:
    infinite = _buffers.numpy.flatnonzero(~_buffers.numpy.isfinite(result))
    if len(infinite):
        raise ValueError(f"the result is {result[infinite[0]]} for parameter {infinite[0]}; all values must be finite")


def _words(error: Exception) -> str:
    """Returns the traceback of an exception, without the lines of this module."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()
