"""The API for programs with an event loop: nothing blocks it, and cancelling ends cleanly."""

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import folkmoot
import numpy as np
import pytest
from folkmoot import aio, events, simulation
from folkmoot.admin import Admin
from small_task import PROGRAM, linear_model, task_text
from test_rounds import line
from test_simulation import DIGITS

PATIENCE_SECONDS = 60


def start(coordinator, tmp_path, rounds=3):
    model = linear_model(tmp_path / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))
    return coordinator.create_task(task_text("lines", report_goal=1, rounds=rounds), model)


def connect(coordinator, tmp_path, **more):
    return aio.Client(
        coordinator.url,
        state_directory=tmp_path / "state",
        enrolment_token=coordinator.create_token("lines"),
        certificate=coordinator.certificate,
        device="cpu",
        **more,
    )


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE_SECONDS))


def test_events_come_while_the_loop_does_other_things(coordinator, tmp_path, generator):
    task = start(coordinator, tmp_path)

    async def train():
        async with connect(coordinator, tmp_path) as client:
            client.examples.add(*line(generator))
            heard = client.events("enrolled", "round")
            ticks, told = 0, []

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    # Each turn of the loop is a tick.
                    await asyncio.sleep(0)

            beside = asyncio.create_task(tick())
            watched = asyncio.create_task(collected(aio.watch(coordinator.admin, task, poll_seconds=0.05)))
            assert await client.run(rounds=3) == 3
            beside.cancel()
            outputs = await client.predict([[1.0, 0.0]])
            rounds = await watched
        async for event in heard:
            told.append(event)
        with pytest.raises(folkmoot.ForgottenError, match="async with"):
            await client.run()
        return ticks, told, outputs, rounds

    ticks, told, outputs, rounds = run(train())
    assert ticks > 100, "the loop was free during the rounds"
    assert [type(event) for event in told] == [events.Enrolled, *[events.Round] * 3]
    assert outputs.shape == (1, 1) and [row["phase"] for row in rounds] == ["committed"] * 3


async def collected(iterator):
    return [one async for one in iterator]


def test_following_a_client_ends_with_its_rounds_or_when_it_is_left(coordinator, tmp_path, generator):
    start(coordinator, tmp_path, rounds=100)

    async def train():
        async with connect(coordinator, tmp_path) as client:
            client.examples.add(*line(generator))
            whole = [event.round_number async for event in client.follow("round", rounds=2)]
            async with contextlib.aclosing(client.follow("round")) as followed:
                async for event in followed:
                    left = event.round_number
                    break
            # The run has ended, so that another one can begin.
            more = [event.round_number async for event in client.follow("round", rounds=1)]
        return whole, left, more

    whole, left, more = run(train())
    assert whole == [1, 2] and left >= 3 and more[0] > left


def test_the_error_of_a_run_is_raised_where_it_is_followed(coordinator, tmp_path):
    async def train():
        async with connect(coordinator, tmp_path) as client:
            with pytest.raises(folkmoot.NoExamplesError):
                await collected(client.follow("round"))
            with pytest.raises(folkmoot.BadOptionError, match="no event `rounds`"):
                client.events("rounds")

    run(train())


def test_a_cancelled_run_ends_and_frees_the_state_directory(coordinator, tmp_path, generator):
    start(coordinator, tmp_path, rounds=100)

    async def train():
        first = asyncio.Event()

        async def forever():
            async with connect(coordinator, tmp_path) as client:
                client.examples.add(*line(generator))
                async for _ in client.follow("round"):
                    first.set()

        task = asyncio.create_task(forever())
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with connect(coordinator, tmp_path) as again:
            again.examples.add(*line(generator))
            assert await again.run(rounds=1) == 1

    run(train())


def test_a_cancelled_run_is_continued_by_the_next_one(coordinator, tmp_path, generator):
    task = start(coordinator, tmp_path, rounds=100)

    async def train():
        async with connect(coordinator, tmp_path) as client:
            client.examples.add(*line(generator))
            for _ in range(10):
                assigned = client.events("assigned")
                running = asyncio.create_task(client.run())
                await assigned.__anext__()
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                assigned.end()
                assert await client.run(rounds=1) == 1

    run(train())
    rounds = coordinator.wait_for_rounds(task, 10)
    assert not [row for row in rounds if row["phase"] == "abandoned"], "no assignment was given up"


class Gate:
    """A call that waits in its thread until it is opened."""

    def __init__(self, call):
        self.call, self.begun, self.opened = call, threading.Event(), threading.Event()

    def __call__(self, *given, **options):
        self.begun.set()
        assert self.opened.wait(PATIENCE_SECONDS)
        return self.call(*given, **options)


async def cancelled_again(task):
    """Cancels a task, and again when it has heard of it."""
    for _ in range(3):
        task.cancel()
        # The loop throws the cancellation into the task in its next turn, and in the one after it the task waits again.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done(), "it waits until its work is finished"


def test_a_client_that_is_cancelled_while_it_closes_frees_the_state_directory(coordinator, tmp_path):
    async def train():
        client = await connect(coordinator, tmp_path).__aenter__()
        slow = client._client.close = Gate(client._client.close)
        task = asyncio.create_task(client.close())
        assert await asyncio.to_thread(slow.begun.wait, PATIENCE_SECONDS)
        await cancelled_again(task)
        slow.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with connect(coordinator, tmp_path):
            pass

    run(train())


def test_a_client_opens_predicts_stops_and_closes_while_the_threads_of_the_loop_are_busy(coordinator, tmp_path):
    async def train():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        free = threading.Event()
        busy = asyncio.ensure_future(asyncio.to_thread(free.wait, PATIENCE_SECONDS))
        try:
            async with connect(coordinator, tmp_path) as client:
                with pytest.raises(folkmoot.NoModelError):
                    await client.predict([[1.0, 0.0]])
                await client.stop()
            assert not busy.done()
        finally:
            free.set()
            await busy

    run(train())


def test_a_cancelled_watch_leaves_no_thread(coordinator, tmp_path):
    task = start(coordinator, tmp_path)
    coordinator.admin.pause(task)

    async def watched():
        loop, queried = asyncio.get_running_loop(), asyncio.Event()

        class Heard(Admin):
            def task(self, task):
                loop.call_soon_threadsafe(queried.set)
                return super().task(task)

        admin = Heard(coordinator.url, coordinator.api_key, coordinator.certificate)
        loop.set_default_executor(ThreadPoolExecutor(1))
        watching = asyncio.create_task(collected(aio.watch(admin, task, after=1, poll_seconds=0.05)))
        await queried.wait()
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching
        try:
            assert await asyncio.to_thread(lambda: "free") == "free", "the only thread polls no more"
        finally:
            coordinator.admin.cancel(task)

    run(watched())


def test_a_client_that_is_cancelled_while_it_opens_frees_the_state_directory(coordinator, tmp_path, monkeypatch):
    made, blocking = [], aio.BlockingClient
    slow = Gate(lambda *given, **options: made.append(blocking(*given, **options)) or made[-1])
    monkeypatch.setattr(aio, "BlockingClient", slow)

    async def enter():
        async with connect(coordinator, tmp_path):
            raise AssertionError("it was cancelled before")

    async def train():
        task = asyncio.create_task(enter())
        assert await asyncio.to_thread(slow.begun.wait, PATIENCE_SECONDS)
        await cancelled_again(task)
        slow.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(folkmoot.ForgottenError, match="closed"):
            made[0].stop()
        async with connect(coordinator, tmp_path):
            pass

    run(train())


def test_a_slow_reader_loses_old_events_and_no_memory(coordinator, tmp_path, monkeypatch):
    monkeypatch.setattr(aio, "EVENTS_MAX", 3)

    async def read():
        async with connect(coordinator, tmp_path) as client:
            heard = client.events("paused")
            for number in range(5):
                heard._hear(events.Paused(str(number)))
            # The loop passes on the events that it has got in its next turn.
            await asyncio.sleep(0)
            heard.end()
            return [event.reason async for event in heard]

    assert run(read()) == ["2", "3", "4"]


def test_a_cancelled_simulation_ends_its_program(tmp_path, monkeypatch):
    started = []
    popen = simulation.subprocess.Popen
    monkeypatch.setattr(
        simulation.subprocess, "Popen", lambda *given, **more: started.append(popen(*given, **more)) or started[-1]
    )
    endless = tmp_path / "task.toml"
    endless.write_text((DIGITS / "task.toml").read_text().replace("rounds = 10", "rounds = 100000"))

    async def simulate():
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        task = asyncio.create_task(
            aio.simulate(
                endless,
                DIGITS / "model.onnx",
                DIGITS / "digits.csv",
                clients=10,
                program=PROGRAM,
                progress=lambda row: loop.call_soon_threadsafe(told.set),
            )
        )
        await told.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert started[0].poll() is not None

    run(simulate())
    done = run(
        aio.simulate(DIGITS / "task.toml", DIGITS / "model.onnx", DIGITS / "digits.csv", clients=5, program=PROGRAM)
    )
    assert len(done.rounds) == 10
