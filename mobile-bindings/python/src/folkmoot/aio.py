"""The package for programs with an event loop: nothing here blocks it, and cancelling a task ends its work cleanly.

from folkmoot import aio

async with aio.Client(url, state_directory="state", enrolment_token=token, certificate="ca.pem") as client:
    client.examples.add(x, y)
    async for event in client.follow("round", rounds=10):
        print(event.round_number)
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import errors, events, simulation
from ._buffers import ArrayLike
from .admin import Admin, views
from .admin.waiting import Ended
from .client import Client as BlockingClient
from .examples import Examples
from .model_update import ModelUpdate
from .simulated import Simulated

if TYPE_CHECKING:
    from .care import DeviceConditions

__all__ = ["Client", "Events", "simulate", "watch"]

EVENTS_MAX = 10_000
"""The largest number of events that wait for a slow reader. Older ones are dropped."""
_T = TypeVar("_T")
_threads = ThreadPoolExecutor(thread_name_prefix="folkmoot-aio")
"""Opens, closes and asks clients. Simulations can fill the loop's own threads for hours."""


class Client:
    """`folkmoot.Client` for an event loop. Use it as an asynchronous context manager, which opens and closes it."""

    def __init__(self, coordinator: str, **options: Any) -> None:
        """Takes the arguments of `folkmoot.Client`. The client opens in `async with`.

        Raises BadOptionError or StorageError when it opens.
        """
        self._arguments = (coordinator, options)
        self._client: BlockingClient | None = None
        self._heard: list[Events] = []

    async def __aenter__(self) -> Client:
        coordinator, options = self._arguments
        opening = _begun(partial(BlockingClient, coordinator, **options))
        try:
            self._client = await _finished(opening)
        except asyncio.CancelledError:
            if opening.exception() is None:
                await _finished(_begun(opening.result().close))
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def examples(self) -> Examples:
        """The examples to train on."""
        return self._opened.examples

    async def run(self, rounds: int | None = None) -> int:
        """Takes part in rounds until `stop` is called, or until `rounds` updates were accepted. Returns their number.

        If the task that awaits it is cancelled, the run ends, and the next one continues its assignment. To give the assignment up
        and tell the coordinator, call `stop`. Raises the errors of `folkmoot.Client.run`.
        """
        return await self._opened.run_async(rounds)

    async def follow(self, *names: str, rounds: int | None = None) -> AsyncIterator[events.Event]:
        """Runs the client and yields its events with these names, or all. It ends with the run, and raises the run's error.

        Leaving the loop early ends the run, as if it was cancelled. To end it at once, close the iterator:
        `async with contextlib.aclosing(client.follow(…)) as events`.
        """
        heard = self.events(*names)
        run = asyncio.ensure_future(self.run(rounds))
        run.add_done_callback(lambda _: heard.end())
        try:
            async for event in heard:
                yield event
            await run
        finally:
            heard.end()
            run.cancel()
            # Its error was raised above, or it was cancelled here.
            await asyncio.gather(run, return_exceptions=True)

    def events(self, *names: str) -> Events:
        """Returns the events with these names, or all, from now on until the client is closed: `async for event in …`.

        Raises BadOptionError for an unknown name.
        """
        heard = Events(self._opened, names)
        self._heard = [*(one for one in self._heard if not one.is_over), heard]
        return heard

    async def update_model(self) -> ModelUpdate | None:
        """Fetches the model that the operator has rolled out to this device, like `folkmoot.Client.update_model`."""
        return await self._opened.update_model_async()

    async def predict(self, x: ArrayLike) -> Any:
        """Returns a model's outputs for rows of features, like `folkmoot.Client.predict`."""
        return await _begun(partial(self._opened.predict, x))

    def set_conditions(self, conditions: DeviceConditions) -> None:
        """Sets the device's current conditions. It does not block."""
        self._opened.set_conditions(conditions)

    async def stop(self) -> None:
        """Stops taking part in rounds. Gives up the current assignment and tells the coordinator."""
        await _begun(self._opened.stop)

    async def forget(self) -> None:
        """Stops the client and deletes its key, session, models and examples. It cannot be used afterwards."""
        await _finished(_begun(self._opened.forget))

    async def close(self) -> None:
        """Stops the client and releases the state directory. Calling it again has no effect.

        Also if the task that awaits it is cancelled, the directory is free when it returns.
        """
        if self._client is not None:
            client, self._client = self._client, None
            for heard in self._heard:
                heard.end()
            await _finished(_begun(client.close))

    @property
    def _opened(self) -> BlockingClient:
        if self._client is None:
            raise errors.ForgottenError("this client is not open; use it in `async with`")
        return self._client


class Events:
    """The events of a client, as an asynchronous iterator."""

    def __init__(self, client: BlockingClient, names: tuple[str, ...]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[events.Event] = deque(maxlen=EVENTS_MAX)
        self._changed = asyncio.Event()
        self.is_over = False
        """Whether it has stopped listening."""
        self._removals = [client.on(name, self._hear) for name in names or events.NAMES]

    def end(self) -> None:
        """Stops listening. Events that were heard before can still be read."""
        for remove in self._removals:
            remove()
        self._removals = []
        self.is_over = True
        self._changed.set()

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> events.Event:
        while not self._waiting:
            if self.is_over:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    def _hear(self, event: events.Event) -> None:
        """Passes an event from the client's thread to the loop."""
        # A loop that has been closed needs no events.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._add, event)

    def _add(self, event: events.Event) -> None:
        self._waiting.append(event)
        self._changed.set()


async def simulate(*arguments: Any, **options: Any) -> Simulated:
    """Runs `folkmoot.simulate` with these arguments in a thread. Cancelling the task that awaits it ends the program.

    `progress` is called in that thread, and so are your own functions.
    """
    cancel = threading.Event()
    # As in `asyncio.to_thread`, `progress` sees the caller's context.
    simulated = partial(copy_context().run, simulation.simulate, *arguments, cancel=cancel, **options)
    run = asyncio.get_running_loop().run_in_executor(None, simulated)
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        cancel.set()
        # The cancellation matters, and not the error that it causes.
        with contextlib.suppress(Exception):
            await _finished(run)
        raise


async def watch(
    admin: Admin,
    task: views.TaskLike,
    *,
    after: int = 0,
    poll_seconds: float = 1.0,
    seconds_max: float | None = None,
) -> AsyncIterator[views.RoundView]:
    """Yields each round of a task when it ends, until the task ends. The options are those of `Admin.watch`."""
    ended = Ended(admin, task, after, poll_seconds, seconds_max)
    while True:
        for row in await asyncio.to_thread(ended.query):
            yield row
        if ended.is_over:
            return
        await asyncio.sleep(ended.pause_seconds)


def _begun(work: Callable[[], _T]) -> asyncio.Future[_T]:
    """Begins work in a thread of this module."""
    return asyncio.get_running_loop().run_in_executor(_threads, work)


async def _finished(work: asyncio.Future[_T]) -> _T:
    """Waits for work that must not be left half done. If the task is cancelled meanwhile, once or more, that is raised at the end."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # The cancellation matters, and not an error of the work.
        work.exception()
        raise cancelled
    return work.result()
