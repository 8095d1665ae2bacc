"""One client of one coordinator."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, overload

from . import _buffers, _log, errors, events
from ._buffers import ArrayLike
from ._native import folkmoot_mobile as native
from .care import DeviceConditions, DevicePolicy, Limits, LogEntry
from .examples import Examples
from .offer import AssignmentOffer
from .secrets import NativeSecrets, SecretStorage
from .trainer import NativeTrainer, Trainer

_logger = logging.getLogger("folkmoot")

STOP_AGAIN_SECONDS = 0.2

Listener = Callable[[Any], object]
_L = TypeVar("_L", bound=Listener)
_T = TypeVar("_T")


class Client:
    """One client of one coordinator: it trains on examples that never leave this machine.

    Use it as a context manager, or call `close`. A client that was killed goes on where it was when the same `state` is
    opened again.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        state: str | os.PathLike[str],
        token: str | None = None,
        certificate: str | bytes | os.PathLike[str] | None = None,
        trainer: Trainer | None = None,
        device: str = "auto",
        attributes: Mapping[str, str] | None = None,
        private_attributes: Mapping[str, str] | None = None,
        ask_before: Callable[[AssignmentOffer], bool] | None = None,
        wait_seconds: int | None = None,
        blob_cache_bytes_max: int | None = None,
        policy: DevicePolicy | None = None,
        limits: Limits | None = None,
        secrets: SecretStorage | None = None,
    ) -> None:
        """Opens the client. Nothing is sent before it runs.

        `endpoint` is `https://host[:port]`, or `http://` for this machine only. `state` is a directory for key, session
        and models, of this client alone. `token` is the enrolment token, needed until the client is enrolled.
        `certificate` is the coordinator's `ca.pem`: a path, or PEM as bytes; without it the system's certificates are
        trusted. `trainer` trains instead of the engine. `device` is `auto`, `cpu`, `gpu`, or a part of an adapter's name; a
        slim wheel, built without the GPU, has `auto` and `cpu` only.
        `attributes` are stated for eligibility, `private_attributes` never leave this machine: plans' device rules are
        evaluated with them. `ask_before` is asked about each assignment, and one that it does not return True for is
        declined. `wait_seconds` is how long a check-in waits, at most 60. `policy`
        is what has to hold of the device while it trains, as `set_conditions` tells, and `limits` what it may use in a day and for one
        assignment, and what it declines.
        `secrets` keeps the key instead of a file in `state`.

        Raises BadOptionError or StorageError.
        """
        _log.begin()
        options = native.ConnectOptions(
            coordinator=endpoint,
            # A program that changes its folder keeps its state.
            state_directory=os.path.abspath(state),
            enrolment_token=token,
            certificate_pem=_pem(certificate),
            attributes=dict(attributes or {}),
            private_attributes=dict(private_attributes or {}),
            device=_device(device),
            wait_seconds=wait_seconds,
            blob_cache_bytes_max=blob_cache_bytes_max,
            policy=policy,
            limits=limits,
        )
        self._listeners = _Listeners()
        consent = None if ask_before is None else _Consent(ask_before)
        own = None if trainer is None else NativeTrainer(trainer)
        kept = None if secrets is None else NativeSecrets(secrets)
        with errors.translating():
            self._native: native.Folkmoot | None = native.Folkmoot.connect(options, self._listeners, consent, own, kept)
        self._thread: threading.Thread | None = None
        self.examples = Examples(self._native.examples())
        """The examples to train on."""
        _open_clients.add(self)

    @overload
    def on(self, name: str) -> Callable[[_L], _L]: ...
    @overload
    def on(self, name: str, listener: Listener) -> Callable[[], None]: ...

    def on(self, name: str, listener: Listener | None = None) -> Any:
        """Hears an event: `client.on("round", print)`, until the function that is returned is called; or as a decorator.

        The names are those of `folkmoot.events.NAMES`. Listeners are called on the client's threads, and must not block.

        Raises BadOptionError for a name that is no event's.
        """
        if name not in events.NAMES:
            raise errors.BadOptionError(f"there is no event `{name}`: {', '.join(events.NAMES)}")
        if listener is not None:
            return self._listeners.add(name, listener)

        def decorate(function: _L) -> _L:
            self._listeners.add(name, function)
            return function

        return decorate

    def run(self, rounds: int | None = None) -> int:
        """Takes part in rounds until `stop` is called elsewhere, or until so many updates were accepted.

        Returns how many were accepted. It enrols first if it has to. Ctrl-C ends it at once; the next run goes on.

        Raises NoExamplesError, NotEnrolledError, RefusedError, StorageError or AlreadyRunningError.
        """
        return _blocking(self.run_async(rounds))

    async def run_async(self, rounds: int | None = None) -> int:
        """As `run`, for a program with an event loop. A run that is cancelled is gone on with by the next one."""
        with errors.translating():
            return (await self._opened().start(rounds)).accepted_rounds

    def start(self, rounds: int | None = None) -> None:
        """Runs in the background, until `stop` or so many accepted updates. What ends it early is logged.

        Raises AlreadyRunningError.
        """
        if self._thread is not None and self._thread.is_alive():
            raise errors.AlreadyRunningError("this client runs already: stop it first")
        self._opened()
        self._thread = threading.Thread(target=self._run_logged, args=(rounds,), name="folkmoot-run", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops taking part. An assignment under way is given up, of which the coordinator hears."""
        is_over = False
        # A thread that has only just been started has nothing yet that could be stopped.
        while not is_over:
            with errors.translating():
                _blocking(self._opened().stop())
            is_over = self._join(STOP_AGAIN_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether it takes part in rounds now; after `start` from its return on."""
        if self._native is None:
            return False
        is_started = self._thread is not None and self._thread.is_alive()
        return is_started or self._native.status().is_running

    def predict(self, x: ArrayLike) -> Any:
        """The newest global model's outputs for one or more rows of features, `[rows, ...]`.

        That model is the one with which the last assignment began. Returns a float32 array `[rows, ...]`, or nested lists
        where there is no NumPy.

        Raises NoModelError, or BadExampleError if the features do not fit the model.
        """
        features, shape = _buffers.filled(x)
        rows = shape[0] if shape else 1
        with errors.translating():
            prediction = self._opened().predict(features, rows)
        return _buffers.numbers(prediction.outputs, [rows, *prediction.shape])

    def set_conditions(self, conditions: DeviceConditions) -> None:
        """Hears what holds of the device now, as often as one likes.

        A training that may not go on pauses between two steps, within 250 ms, and goes on there when it may.
        """
        self._opened().set_conditions(conditions)

    def pause(self, reason: str) -> None:
        """Pauses for a reason of the program's own, until `resume`."""
        self._opened().set_paused(reason)

    def resume(self) -> None:
        """Ends the pause that the program asked for. The device's conditions may still keep it from training."""
        self._opened().set_paused(None)

    def transparency_log(self) -> list[LogEntry]:
        """What was done with the user's data, the oldest first; the newest 2,000 entries are kept, on this machine only.

        Raises StorageError.
        """
        with errors.translating():
            return self._opened().transparency_log()

    def note_consent(self, words: str | None) -> None:
        """Notes in the transparency log to which words the user agreed, or, with None, that they do not any more."""
        if words is None:
            self._opened().consent_withdrawn()
        else:
            self._opened().consent_given(words)

    def forget(self) -> None:
        """Stops, and deletes key, session, models and examples. The client cannot be used any more."""
        with errors.translating():
            _blocking(self._opened().forget())
        self._join()
        self._native = None

    def close(self) -> None:
        """Stops, and lets the state directory go. It may be called twice."""
        if self._native is not None:
            native_client, self._native = self._native, None
            with errors.translating():
                _blocking(native_client.close())
            self._join()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> native.Folkmoot:
        if self._native is None:
            raise errors.ForgottenError("this client was forgotten or closed: make a new one")
        return self._native

    def _run_logged(self, rounds: int | None) -> None:
        try:
            self.run(rounds)
        except errors.ForgottenError:
            # It was closed before this thread had begun.
            pass
        except errors.FolkmootError:
            _logger.exception("the client does not run any more")

    def _join(self, seconds: float | None = None) -> bool:
        """Waits for the thread of `start`, and says whether it is over."""
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()


class _Listeners(native.EventListener):
    """Whoever wants to hear of events, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Listener]] = {}
        self._lock = threading.Lock()

    def add(self, name: str, listener: Listener) -> Callable[[], None]:
        """Adds a listener, and returns what takes it away."""
        with self._lock:
            self._by_name.setdefault(name, []).append(listener)

        def remove() -> None:
            with self._lock:
                if listener in self._by_name[name]:
                    self._by_name[name].remove(listener)

        return remove

    def on_event(self, event: native.ClientEvent) -> None:
        """Tells all of them. One that fails does not keep it from the others."""
        name, told = events.translated(event)
        with self._lock:
            listeners = list(self._by_name.get(name, []))
        for listener in listeners:
            try:
                listener(told)
            except Exception:
                _logger.exception("a listener of `%s` failed", name)


class _Consent(native.ConsentCallback):
    """The app's answer. Only True is a yes; an app that fails has not agreed."""

    def __init__(self, ask: Callable[[AssignmentOffer], bool]) -> None:
        self._ask = ask

    def ask(self, offer: native.AssignmentOffer) -> bool:
        """Asks."""
        try:
            return self._ask(AssignmentOffer.translated(offer)) is True
        except Exception:
            _logger.exception("ask_before failed, which counts as no")
            return False


def _blocking(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine to its end; in a thread of its own where this one has an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((asyncio.run(coroutine), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=run, name="folkmoot-call")
    thread.start()
    thread.join()
    value, error = outcome
    if error is not None:
        raise error
    result: _T = value
    return result


def _pem(certificate: str | bytes | os.PathLike[str] | None) -> bytes | None:
    if certificate is None or isinstance(certificate, bytes):
        return certificate
    try:
        with open(certificate, "rb") as file:
            return file.read()
    except OSError as error:
        raise errors.BadOptionError(f"certificate: {error}; give the path of the coordinator's ca.pem") from None


def _device(name: str) -> Any:
    kinds: Any = native.DeviceChoice
    choice = {"auto": kinds.AUTO, "cpu": kinds.CPU, "gpu": kinds.GPU}.get(name.lower())
    return kinds.NAMED(name) if choice is None else choice()


_open_clients: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """No thread of the library may come back to an interpreter that has ended."""
    for client in list(_open_clients):
        try:
            client.close()
        except errors.FolkmootError:
            _logger.exception("a client could not be closed")
    native.shut_down()
