"""One client of one coordinator."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar, overload

from . import _buffers, _log, errors, events
from ._buffers import ArrayLike
from ._native import folkmoot_mobile as native
from .care import DeviceConditions, DevicePolicy, Limits, LogEntry
from .examples import Examples
from .model_update import ModelUpdate
from .offer import AssignmentOffer
from .secrets import NativeSecrets, SecretStorage
from .trainer import NativeTrainer, Trainer

_logger = logging.getLogger("folkmoot")

STOP_AGAIN_SECONDS = 0.2

Listener = Callable[[Any], object]
_L = TypeVar("_L", bound=Listener)
_T = TypeVar("_T")


class Client:
    """One client of one coordinator. It trains on examples that never leave this machine.

    Use it as a context manager, or call `close`. If the process is killed, opening the same `state_directory` again
    continues where it stopped.
    """

    def __init__(
        self,
        coordinator: str,
        *,
        state_directory: str | os.PathLike[str],
        enrolment_token: str | None = None,
        certificate: str | bytes | os.PathLike[str] | None = None,
        client_certificate: str | bytes | os.PathLike[str] | None = None,
        client_key: str | bytes | os.PathLike[str] | None = None,
        pins: Sequence[str] = (),
        trainer: Trainer | None = None,
        device: str = "auto",
        attributes: Mapping[str, str] | None = None,
        private_attributes: Mapping[str, str] | None = None,
        endorsement_keys: Sequence[str] = (),
        channel: str | None = None,
        ask_before: Callable[[AssignmentOffer], bool] | None = None,
        wait_seconds: int | None = None,
        blob_cache_bytes_max: int | None = None,
        policy: DevicePolicy | None = None,
        limits: Limits | None = None,
        secrets: SecretStorage | None = None,
    ) -> None:
        """Opens the client. Nothing is sent until it runs or updates its model.

        Connection: `coordinator` is `https://host[:port]`, or `http://` for this machine only. `enrolment_token` comes
        from the operator. It is needed until the client is enrolled. `certificate` is the coordinator's `ca.pem`: a
        path, or PEM as bytes. By default, the system's certificates are trusted. `client_certificate` and `client_key`
        are this client's own certificate and its private key, for a coordinator that requires them. `pins` are the
        SHA-256 of public keys in base64 (at most 8), as `folkmoot doctor` prints them: the client accepts only a
        coordinator with one of these keys. `wait_seconds` is the time for which a check-in waits for an assignment: at
        most 60, by default 30.

        State: `state_directory` holds the key, session and models of this client alone. `secrets` stores the key
        instead of a file there.

        Training: `trainer` trains instead of the engine. `device` is `auto`, `cpu`, `gpu`, or part of an adapter's
        name. A slim wheel, built without GPU support, has only `auto` and `cpu`. `policy` sets the conditions under
        which the device trains, as reported to `set_conditions`. `limits` limits traffic, training time and the cost of
        assignments.

        Eligibility and consent: the coordinator sees `attributes`. `private_attributes` never leave this machine; the
        client evaluates the device rules of plans with them. `ask_before` is called for each assignment, which is
        declined unless it returns True. `endorsement_keys` are Ed25519 public keys (base64, at most 8): the client takes
        part only in tasks that one of them has endorsed for this coordinator, and uses only their models.

        Rollouts: `channel` is the channel whose models `update_model` fetches, such as `beta`. By default, it is `stable`.

        Raises BadOptionError or StorageError.
        """
        _log.begin()
        _log.quieten_graphics()
        options = native.ConnectOptions(
            coordinator=coordinator,
            # An absolute path, so that a program that changes its working directory keeps its state.
            state_directory=os.path.abspath(state_directory),
            enrolment_token=enrolment_token,
            certificate=_pem("certificate", certificate),
            client_certificate=_pem("client_certificate", client_certificate),
            client_key=_pem("client_key", client_key),
            pins=list(pins),
            attributes=dict(attributes or {}),
            private_attributes=dict(private_attributes or {}),
            endorsement_keys=list(endorsement_keys),
            channel=channel,
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
        """Calls `listener` for each event of this name: `client.on("round", print)`. Can also be used as a decorator.

        Returns a function that removes the listener. `folkmoot.events.NAMES` lists the names. Listeners are called on
        the client's threads and must not block.

        Raises BadOptionError for an unknown name.
        """
        if name not in events.NAMES:
            raise errors.BadOptionError(f"there is no event `{name}`; the events are {', '.join(events.NAMES)}")
        if listener is not None:
            return self._listeners.add(name, listener)

        def decorate(function: _L) -> _L:
            self._listeners.add(name, function)
            return function

        return decorate

    def run(self, rounds: int | None = None) -> int:
        """Takes part in rounds until `stop` is called elsewhere, or until `rounds` updates were accepted.

        Returns the number of accepted updates. The client enrols first if necessary. Ctrl-C ends the run at once; the
        next run continues from there.

        Raises NoExamplesError, NotEnrolledError, RefusedError, StorageError or AlreadyRunningError.
        """
        return _blocking(self.run_async(rounds))

    async def run_async(self, rounds: int | None = None) -> int:
        """Like `run`, for a program with an event loop. If the run is cancelled, the next one continues from there."""
        with errors.translating():
            return (await self._opened().start(rounds)).accepted_rounds

    def start(self, rounds: int | None = None) -> None:
        """Runs in the background until `stop` is called or `rounds` updates were accepted. An error that ends it is
        logged.

        Raises AlreadyRunningError.
        """
        if self._thread is not None and self._thread.is_alive():
            raise errors.AlreadyRunningError("this client is already running; stop it first")
        self._opened()
        self._thread = threading.Thread(target=self._run_logged, args=(rounds,), name="folkmoot-run", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops taking part in rounds. Gives up the current assignment and tells the coordinator."""
        is_over = False
        # A thread that has just started may not have a run yet that could be stopped.
        while not is_over:
            with errors.translating():
                _blocking(self._opened().stop())
            is_over = self._join(STOP_AGAIN_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether the client is taking part in rounds. True as soon as `start` returns."""
        if self._native is None:
            return False
        is_started = self._thread is not None and self._thread.is_alive()
        return is_started or self._native.status().is_running

    def update_model(self) -> ModelUpdate | None:
        """Fetches the model that the operator has rolled out to this device, and tries it. From then on, `predict` uses it,
        also without a connection and after a restart.

        Returns None if no model is rolled out to this device; `predict` then uses the model of the last assignment. Call
        it when the program starts and, for example, once a day, also during a run. The client enrols first if necessary,
        and needs no examples: a device can use models without ever training.

        Raises ModelUnusableError if the model does not work here; predictions then keep the model before. Also raises
        NotEnrolledError, RefusedError, UnreachableError or StorageError.
        """
        return _blocking(self.update_model_async())

    async def update_model_async(self) -> ModelUpdate | None:
        """Like `update_model`, for a program with an event loop. It can be cancelled."""
        with errors.translating():
            update = await self._opened().update_model()
        return None if update is None else ModelUpdate.translated(update)

    def predict(self, x: ArrayLike) -> Any:
        """Returns a model's outputs for one or more rows of features, `[rows, ...]`.

        That model is the one that `update_model` has brought, or else the one that the last assignment started from. The
        result is a float32 array `[rows, ...]`, or nested lists without NumPy.

        Raises NoModelError, or BadExampleError if the features do not fit the model.
        """
        features, shape = _buffers.filled(x)
        rows = shape[0] if shape else 1
        with errors.translating():
            prediction = self._opened().predict(features, rows)
        return _buffers.numbers(prediction.outputs, [rows, *prediction.shape])

    def set_conditions(self, conditions: DeviceConditions) -> None:
        """Sets the device's current conditions. Call it as often as you like.

        If training is no longer allowed, it pauses between two steps, within 250 ms, and later continues from there.
        """
        self._opened().set_conditions(conditions)

    def pause(self, reason: str) -> None:
        """Pauses training for a reason of the program's own, until `resume` is called."""
        self._opened().set_paused(reason)

    def resume(self) -> None:
        """Ends the program's own pause. The device's conditions may still prevent training."""
        self._opened().set_paused(None)

    def transparency_log(self) -> list[LogEntry]:
        """Returns how the user's data was used, the oldest entry first. The newest 2,000 entries are kept, on this
        machine only.

        Raises StorageError.
        """
        with errors.translating():
            return self._opened().transparency_log()

    def note_consent(self, words: str | None) -> None:
        """Records in the transparency log the text that the user consented to, or with None, that the user withdrew
        consent.
        """
        if words is None:
            self._opened().consent_withdrawn()
        else:
            self._opened().consent_given(words)

    def forget(self) -> None:
        """Stops the client and deletes its key, session, models and examples. It cannot be used afterwards."""
        with errors.translating():
            _blocking(self._opened().forget())
        self._join()
        self._native = None

    def close(self) -> None:
        """Stops the client and releases the state directory. Calling it again has no effect."""
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
            raise errors.ForgottenError("this client was forgotten or closed; create a new one")
        return self._native

    def _run_logged(self, rounds: int | None) -> None:
        try:
            self.run(rounds)
        except errors.ForgottenError:
            # The client was closed before this thread started.
            pass
        except errors.FolkmootError:
            _logger.exception("the client stopped because of an error")

    def _join(self, seconds: float | None = None) -> bool:
        """Waits for the thread of `start`. Returns whether it has ended."""
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()


class _Listeners(native.EventListener):
    """Event listeners, by event name."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Listener]] = {}
        self._lock = threading.Lock()

    def add(self, name: str, listener: Listener) -> Callable[[], None]:
        """Adds a listener. Returns a function that removes it."""
        with self._lock:
            self._by_name.setdefault(name, []).append(listener)

        def remove() -> None:
            with self._lock:
                if listener in self._by_name[name]:
                    self._by_name[name].remove(listener)

        return remove

    def on_event(self, event: native.ClientEvent) -> None:
        """Calls all listeners. An exception in one does not affect the others."""
        name, told = events.translated(event)
        with self._lock:
            listeners = list(self._by_name.get(name, []))
        for listener in listeners:
            try:
                listener(told)
            except Exception:
                _logger.exception("a listener for `%s` failed", name)


class _Consent(native.ConsentCallback):
    """The app's consent function. Only True accepts; an exception declines."""

    def __init__(self, ask: Callable[[AssignmentOffer], bool]) -> None:
        self._ask = ask

    def ask(self, offer: native.AssignmentOffer) -> bool:
        """Calls the consent function."""
        try:
            return self._ask(AssignmentOffer.translated(offer)) is True
        except Exception:
            _logger.exception("ask_before failed, so the assignment is declined")
            return False


def _blocking(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine to completion, in a thread of its own if this thread already has an event loop, as in a
    notebook.
    """
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


def _pem(name: str, content: str | bytes | os.PathLike[str] | None) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    try:
        with open(content, "rb") as file:
            return file.read()
    except OSError as error:
        raise errors.BadOptionError(f"{name}: {error}; give the path of a PEM file, or its bytes") from None


def _device(name: str) -> Any:
    kinds: Any = native.DeviceChoice
    choice = {"auto": kinds.AUTO, "cpu": kinds.CPU, "gpu": kinds.GPU}.get(name.lower())
    return kinds.NAMED(name) if choice is None else choice()


_open_clients: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes all clients before the interpreter exits, so that no native thread calls into it afterwards."""
    for client in list(_open_clients):
        try:
            client.close()
        except errors.FolkmootError:
            _logger.exception("a client could not be closed")
    native.shut_down()
