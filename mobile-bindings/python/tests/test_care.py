"""A device that may train only at times."""

import threading

import folkmoot
import pytest
from test_rounds import connect, line, start


def test_a_client_pauses_while_its_device_may_not_train(coordinator, tmp_path, generator):
    task, token = start(coordinator, "careful", tmp_path, rounds=2)
    told, paused, resumed = [], threading.Event(), threading.Event()
    with connect(coordinator, tmp_path, token, policy=folkmoot.DevicePolicy(requires_charging=True)) as client:
        client.examples.add(*line(generator))
        client.on("paused", lambda event: (told.append(event.reason), paused.set()))
        client.on("resumed", lambda event: resumed.set())
        client.start(rounds=2)
        assert paused.wait(30) and told == ["charging"]
        assert coordinator.rounds(task) == [] or all(one["phase"] != "committed" for one in coordinator.rounds(task))
        client.set_conditions(folkmoot.DeviceConditions(is_charging=True, battery_percent=80))
        assert resumed.wait(30)
        coordinator.wait_for_rounds(task, 2)
        client.pause("a video plays")
        client.resume()


def test_the_log_says_what_left_the_machine(coordinator, tmp_path, generator):
    task, token = start(coordinator, "logged", tmp_path, rounds=1)
    with connect(coordinator, tmp_path, token) as client:
        client.note_consent("the words of version 1")
        client.examples.add(*line(generator))
        client.run(rounds=1)
        client.note_consent(None)
        entries = client.transparency_log()
    actions = [entry.action for entry in entries]
    assert actions[:2] == ["consent", "enrolled"] and actions[-1] == "consent"
    assert [entry.detail for entry in entries if entry.action == "consent"] == [
        "given: the words of version 1",
        "withdrawn",
    ]
    [sent] = [entry for entry in entries if entry.action == "sent"]
    assert sent.bytes_sent > 0 and sent.task_id == task and sent.round_number == 1


def test_a_cohort_that_is_too_small_is_declined_and_the_user_can_read_why(coordinator, tmp_path, generator):
    _, token = start(coordinator, "cohort", tmp_path, rounds=1)
    aborted, reasons = threading.Event(), []
    limits = folkmoot.Limits(cohort_min=1000, protection_min=folkmoot.ProtectionLevel.LOCAL)
    with connect(coordinator, tmp_path, token, limits=limits) as client:
        client.examples.add(*line(generator))
        client.on("aborted", lambda event: (reasons.append((event.reason, event.detail)), aborted.set()))
        client.start(rounds=1)
        assert aborted.wait(30) and reasons[0] == ("declined", "")
        [declined, *_] = [entry for entry in client.transparency_log() if entry.action == "declined"]
    assert declined.detail.startswith("cohort_min is 1000")


def test_only_what_the_operator_has_endorsed_is_trained(coordinator, tmp_path, generator):
    task, token = start(coordinator, "endorsed", tmp_path, rounds=1)
    signer, folder = str(tmp_path / "signer.pem"), str(tmp_path / "endorsement")
    key = coordinator.call("endorsement", "key", "--out", signer)["public_key"]
    aborted, reasons = threading.Event(), []
    with connect(coordinator, tmp_path, token, endorsement_keys=[key]) as client:
        client.examples.add(*line(generator))
        client.on("aborted", lambda event: (reasons.append((event.reason, event.detail)), aborted.set()))
        client.start(rounds=1)
        assert aborted.wait(30) and reasons[0][0] == "plan_unsupported"
        assert reasons[0][1].startswith("the task has no endorsement")
        entries = client.transparency_log()
        assert any(entry.action == "gave_up" and reasons[0][1] in entry.detail for entry in entries)
        assert not any(entry.action == "fetched" for entry in entries)
        coordinator.call("endorsement", "prepare", task, "--out", folder)
        coordinator.call("endorsement", "sign", folder, "--key", signer)
        coordinator.call("endorsement", "publish", folder)
        coordinator.wait_for_rounds(task, 1)


def test_a_key_that_is_none_is_refused(coordinator, tmp_path):
    with pytest.raises(folkmoot.BadOptionError, match="is not a public key"):
        connect(coordinator, tmp_path, "token", endorsement_keys=["c2hvcnQ="])


def test_limits_are_checked(coordinator, tmp_path):
    with pytest.raises(folkmoot.BadOptionError, match="bytes_per_second"):
        connect(coordinator, tmp_path, "token", limits=folkmoot.Limits(bytes_per_second=1))
    with pytest.raises(folkmoot.BadOptionError, match="model_bytes_max is 0"):
        connect(coordinator, tmp_path, "token", limits=folkmoot.Limits(model_bytes_max=0))
    with pytest.raises(folkmoot.BadOptionError, match="battery_percent_min"):
        connect(coordinator, tmp_path, "token", policy=folkmoot.DevicePolicy(battery_percent_min=101))
