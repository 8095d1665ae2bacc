"""Whole rounds against a real coordinator."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

import folkmoot
import numpy as np
import pytest
from folkmoot import _buffers
from small_task import linear_model, task_text

MASKS = """
[aggregator]
kind = "weighted_mean"

[protection.secure_aggregation]
corrupt_share = 0.0
dropout_share = 0.0
step_deadline_seconds = 3600
"""


def start(coordinator, name, tmp_path, *, rounds=2, report_goal=1, **more):
    weight, bias = np.zeros((2, 1), np.float32), np.zeros(1, np.float32)
    model = linear_model(tmp_path / "model.onnx", weight, bias)
    task = coordinator.create_task(task_text(name, report_goal=report_goal, rounds=rounds, **more), model)
    return task, coordinator.create_token(name)


def connect(coordinator, tmp_path, token, *, state="state", **more):
    return folkmoot.Client(
        coordinator.url,
        state_directory=tmp_path / state,
        enrolment_token=token,
        certificate=coordinator.certificate,
        **more,
    )


def name_a_site(admin):
    """Creates a population of named sites, with a token for one."""
    assert admin.set_client_kind("clinics", "sites")["clients"] == "sites"
    assert admin.create_token("clinics", name="north")["record"]["name"] == "north"
    assert admin.sites("clinics") == {"sites": [], "withheld": None}
    admin.revoke_token("north")


def line(generator, count=64):
    x = generator.normal(size=(count, 2)).astype(np.float32)
    return x, x @ np.array([1.0, -2.0], np.float32) + 0.5


def test_a_client_enrols_trains_and_predicts(coordinator, tmp_path, generator):
    task, token = start(coordinator, "lines", tmp_path, rounds=6)
    x, y = line(generator)
    told = []
    with connect(coordinator, tmp_path, token, device="cpu") as client:
        client.examples.add(x, y)
        client.on("enrolled", told.append)
        client.on("round", told.append)
        with pytest.raises(folkmoot.NoModelError):
            client.predict(x[:1])
        assert client.run(rounds=6) == 6
        outputs = client.predict(x[:5])
    assert told[0].population == "lines"
    assert [event.round_number for event in told[1:]] == [1, 2, 3, 4, 5, 6]
    rounds = coordinator.wait_for_rounds(task, 6)
    assert [one["phase"] for one in rounds] == ["committed"] * 6
    # The model on the device is the one that the last round started from, at least four fifths of the way.
    assert outputs.shape == (5, 1) and outputs.dtype == np.float32
    assert np.abs(outputs[:, 0] - y[:5]).max() < 0.2
    weights = coordinator.weights(task)
    np.testing.assert_allclose(weights["weight"][:, 0], [1.0, -2.0], atol=0.05)


def test_three_clients_mask_their_updates(coordinator, tmp_path, generator):
    task, _ = start(coordinator, "masked", tmp_path, rounds=2, report_goal=3, settings=MASKS)
    # If a client fails, the others are closed before their threads are waited for.
    with ThreadPoolExecutor(3) as pool, ExitStack() as opened:
        clients = [
            opened.enter_context(
                connect(
                    coordinator, tmp_path, coordinator.create_token("masked"), state=f"state-{number}", device="cpu"
                )
            )
            for number in range(3)
        ]
        for client in clients:
            client.examples.add(*line(generator, 16))
        for run in as_completed([pool.submit(client.run, rounds=2) for client in clients]):
            assert run.result() == 2
        rounds = coordinator.wait_for_rounds(task, 2)
        logs = [client.transparency_log() for client in clients]
    assert [(one["phase"], one["accepted"]) for one in rounds] == [("committed", 3)] * 2
    for log in logs:
        details = [entry.detail or "" for entry in log if entry.action == "sent"]
        # In each round: keys, shares and an opening.
        assert sum(detail.startswith("secure aggregation") for detail in details) == 6
    assert np.abs(coordinator.weights(task)["weight"]).min() > 0.1


def test_lists_do_where_there_is_no_numpy(coordinator, tmp_path, generator, monkeypatch):
    task, token = start(coordinator, "lists", tmp_path, rounds=1)
    x, y = line(generator, 16)
    monkeypatch.setattr(_buffers, "numpy", None)
    with connect(coordinator, tmp_path, token, device="cpu") as client:
        client.examples.add(x.tolist(), y.tolist())
        client.run(rounds=1)
        outputs = client.predict([[1.0, 0.0], [0.0, 1.0]])
    # Training started from zeros.
    assert outputs == [[0.0], [0.0]]
    coordinator.wait_for_rounds(task, 1)
    assert np.abs(coordinator.weights(task)["weight"]).min() > 0.1


def test_consent_is_asked_and_a_no_declines(coordinator, tmp_path, generator):
    _, token = start(coordinator, "asked", tmp_path)
    offers, aborted = [], []

    def ask(offer):
        offers.append(offer)
        return len(offers) > 1

    with connect(coordinator, tmp_path, token, ask_before=ask) as client:
        client.examples.add(*line(generator))
        client.on("aborted", aborted.append)
        client.run(rounds=1)
    assert [event.reason for event in aborted] == ["declined"]
    assert offers[0].plan["training"]["loss"] == "mean_squared_error"
    assert offers[0].download_bytes > 0


def test_stopping_in_the_background_and_in_an_event_loop(coordinator, tmp_path, generator):
    token = coordinator.create_token("nobody")
    with connect(coordinator, tmp_path, token) as client:
        client.examples.add(*line(generator))
        client.start()
        assert client.is_running, "from the start on, though its thread may not have begun"
        with pytest.raises(folkmoot.AlreadyRunningError):
            client.start()
        client.stop()
        assert not client.is_running
    with connect(coordinator, tmp_path, token, state="second") as client:
        client.examples.add(*line(generator))

        async def cancelled():
            loop, enrolled = asyncio.get_running_loop(), asyncio.Event()
            client.on("enrolled", lambda _: loop.call_soon_threadsafe(enrolled.set))
            run = asyncio.create_task(client.run_async())
            await asyncio.wait_for(enrolled.wait(), 60)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            # Blocking functions may be called where an event loop runs, too.
            client.stop()

        asyncio.run(cancelled())
        assert not client.is_running


def test_a_forgotten_client_is_another_one(coordinator, tmp_path, generator):
    token = coordinator.create_token("forgotten")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "notes.txt").write_text("not the client's")
    client = connect(coordinator, tmp_path, token)
    client.examples.add(*line(generator))
    enrolled = threading.Event()
    client.on("enrolled", lambda _: enrolled.set())
    client.start()
    assert enrolled.wait(60)
    client.forget()
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["notes.txt"]
    with pytest.raises(folkmoot.ForgottenError):
        client.run()
    client.close()


def test_refusals_say_what_to_do(coordinator, tmp_path, generator):
    with connect(coordinator, tmp_path, "no-such-token") as client:
        with pytest.raises(folkmoot.NoExamplesError):
            client.run()
        client.examples.add(*line(generator))
        with pytest.raises(folkmoot.RefusedError) as caught:
            client.run()
    assert caught.value.code is folkmoot.ErrorCode.ENROLMENT_TOKEN_INVALID
    assert caught.value.code.disposition is folkmoot.Disposition.GIVE_UP
    with connect(coordinator, tmp_path, None) as client:
        client.examples.add(*line(generator))
        with pytest.raises(folkmoot.NotEnrolledError, match="token"):
            client.run()
