"""Models that an operator rolls out, on real devices of a real coordinator."""

import asyncio

import folkmoot
import numpy as np
import pytest
from folkmoot import aio
from test_rounds import connect, line, start


def test_a_device_uses_what_is_rolled_out_until_it_is_held(coordinator, tmp_path, generator):
    admin = coordinator.admin
    task, token = start(coordinator, "lines", tmp_path, rounds=2)
    x, y = line(generator)
    with connect(coordinator, tmp_path, token, state="trains", device="cpu") as trains:
        assert trains.update_model() is None
        trains.examples.add(x, y)
        trains.run(rounds=2)
        coordinator.wait_for_rounds(task, 2)
        last = trains.predict(x)
        admin.create_rollout("lines", task, version=0)
        assert trains.update_model().version == 0
        np.testing.assert_array_equal(trains.predict(x), np.zeros((64, 1)))

        # A device that has never trained uses the model, too.
        with connect(coordinator, tmp_path, token) as client:
            with pytest.raises(folkmoot.NoModelError, match="Update the model"):
                client.predict(x)
            assert client.update_model() == folkmoot.ModelUpdate(1, task, 0, is_new=True)
            assert admin.create_rollout("lines", task)["version"] == 2
            assert client.update_model() == folkmoot.ModelUpdate(2, task, 2, is_new=True)
            assert client.update_model() == folkmoot.ModelUpdate(2, task, 2, is_new=False)
            weights = coordinator.weights(task, 2)
            np.testing.assert_allclose(client.predict(x), x @ weights["weight"] + weights["bias"], atol=1e-5)
        # It keeps the model when it is opened again.
        with connect(coordinator, tmp_path, None) as client:
            assert np.abs(client.predict(x)).max() > 0.1
            counts = [(row["number"], row["loaded"], row["failed"]) for row in admin.rollouts("lines")]
            assert counts == [(2, 1, 0), (1, 2, 0)]
            assert admin.change_rollout("lines", 2, held=True)["held"].startswith("by key")
            assert client.update_model() == folkmoot.ModelUpdate(1, task, 0, is_new=True)
            admin.change_rollout("lines", 1, held=True)
            assert client.update_model() is None
            with pytest.raises(folkmoot.NoModelError):
                client.predict(x)
            assert admin.change_rollout("lines", 2, held=False)["held"] is None
            assert client.update_model().rollout == 2

        admin.change_rollout("lines", 2, held=True)
        assert trains.update_model() is None
        np.testing.assert_array_equal(trains.predict(x), last)


def test_a_channel_and_a_model_that_no_key_has_endorsed(coordinator, tmp_path):
    task, token = start(coordinator, "lines", tmp_path)
    key = coordinator.call("endorsement", "key", "--out", str(tmp_path / "key.pem"))["public_key"]
    coordinator.admin.create_rollout("lines", task, channel="beta")

    async def update():
        async with aio.Client(
            coordinator.url,
            state_directory=tmp_path / "tester",
            enrolment_token=token,
            certificate=coordinator.certificate,
            channel="beta",
        ) as tester:
            return await tester.update_model()

    assert asyncio.run(update()).version == 0
    with connect(coordinator, tmp_path, token) as client:
        assert client.update_model() is None
    with connect(coordinator, tmp_path, token, state="pinned", channel="beta", endorsement_keys=[key]) as client:
        with pytest.raises(folkmoot.ModelUnusableError, match="rollout 1.*no endorsement"):
            client.update_model()
        with pytest.raises(folkmoot.NoModelError):
            client.predict([[0.0, 0.0]])
    [rollout] = coordinator.admin.rollouts("lines")
    assert (rollout["loaded"], rollout["failed"]) == (1, 1)
    assert "no endorsement" in rollout["last_failure"]
    with pytest.raises(folkmoot.BadOptionError, match="channel"):
        connect(coordinator, tmp_path, token, state="other", channel="No Name")
