"""`folkmoot.testing`, with which a team tests its app's training. Most other tests use it, too."""

import os
import shutil
import subprocess
import sys
import threading

import folkmoot
import numpy as np
import pytest
from folkmoot.testing import Coordinator, StartError, WaitError
from small_task import PROGRAM, linear_model, task_text

CONFTEST = 'pytest_plugins = ["folkmoot.testing.fixtures"]\n'
TEST = """
def test_the_app_trains(folkmoot_coordinator):
    task = folkmoot_coordinator.create_task({task!r}, {model!r})
    x, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 2.0, 3.0, 4.0]
    with folkmoot_coordinator.simulated_clients(task, x, y, count=2):
        with folkmoot_coordinator.client(task) as client:
            client.examples.add(x, y)
            assert client.run(rounds=1) == 1
        assert folkmoot_coordinator.wait_for_rounds(task, 1)[0]["accepted"] == 3
"""


def model(folder):
    return linear_model(folder / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))


def test_a_team_tests_its_app_in_a_few_lines(tmp_path):
    path = model(tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    test = TEST.format(task=task_text("lines", report_goal=3, rounds=1), model=str(path))
    (tmp_path / "test_app.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_coordinator_lives_in_its_block(tmp_path):
    with Coordinator() as coordinator:
        folder, process = coordinator.folder, coordinator.process
        assert coordinator.call("task", "list") == [] == list(coordinator.admin.tasks())
        description = {
            "name": "lines",
            "population": "lines",
            "plan": {
                "loss": "mean_squared_error",
                "epochs": 1,
                "batch_size": 8,
                "optimizer": {"sgd": {"learning_rate": 0.1}},
            },
            "scheduling": {"kind": "synchronous", "report_goal": 1},
            "stop": {"rounds": 1},
        }
        task = coordinator.create_task(description, model(tmp_path))
        assert coordinator.admin.task(task)["state"] == "active"
        assert coordinator.weights(task)["weight"].tolist() == [[0.0], [0.0]]
        with pytest.raises(
            WaitError, match="0 of 1 rounds were committed in 0 seconds.*The coordinator's log ends with"
        ):
            coordinator.wait_for_rounds(task, 1, seconds_max=0)
    assert process.poll() is not None and not folder.exists()
    coordinator.close()


def test_a_task_as_text_leaves_a_file_beside_the_data_alone(coordinator, tmp_path):
    text = task_text("lines", report_goal=1, rounds=1)
    path = coordinator.folder / "task.toml"
    path.write_text(text)
    by_path = coordinator.create_task(path, model(tmp_path))
    by_text = coordinator.create_task(text.replace("rounds = 1", "rounds = 2"), model(tmp_path))
    rounds = [coordinator.admin.task(task)["description"]["stop"]["rounds"] for task in (by_path, by_text)]
    assert rounds == [1, 2] and path.read_text() == text


def test_simulated_clients_share_the_rows_by_a_seed(coordinator, tmp_path, monkeypatch):
    task = coordinator.create_task(task_text("lines", report_goal=3, rounds=1), model(tmp_path))
    x, y = np.linspace(0.0, 1.0, 20).reshape(10, 2), np.linspace(0.0, 1.0, 10)
    added = []
    add = folkmoot.Examples.add

    def heard(examples, rows, labels, *more, **options):
        added.append([float(label) for label in labels])
        return add(examples, rows, labels, *more, **options)

    monkeypatch.setattr(folkmoot.Examples, "add", heard)
    parts = []
    for seed in (1, 1, 2):
        simulated = coordinator.simulated_clients(task, x, y, count=3, seed=seed)
        parts.append(added[-3:])
        assert [len(client.examples) for client in simulated.clients] == [len(part) for part in parts[-1]] == [4, 3, 3]
        with simulated:
            coordinator.wait_for_rounds(task, 1)
        assert not any(client.is_running for client in simulated.clients)
    first, again, other = parts
    assert first == again != other
    assert all(sorted(sum(part, [])) == pytest.approx(y.tolist()) for part in parts), "each row belongs to one client"
    for rows, labels, count in ((x, y, 11), (x[:0], y[:0], 1), (x[:9], y, 2)):
        with pytest.raises(folkmoot.BadOptionError, match="cannot divide"):
            coordinator.simulated_clients(task, rows, labels, count=count)


def test_a_wait_says_why_no_round_was_committed(coordinator, tmp_path):
    task = coordinator.create_task(task_text("lines", report_goal=1, rounds=1), model(tmp_path))
    with pytest.raises(WaitError, match="No round was opened|1 selecting"):
        coordinator.wait_for_rounds(task, 1, seconds_max=0)
    aborted = threading.Event()
    with coordinator.client(task) as client:
        # The steps are so large that the weights soon are not finite.
        client.examples.add([[1e9, 1e9]] * 8, [1.0] * 8)
        client.on("aborted", lambda _: aborted.set())
        client.start()
        assert aborted.wait(60)
    assert next(coordinator.admin.watch(task, poll_seconds=0.05, seconds_max=60))["phase"] == "abandoned"
    with pytest.raises(WaitError, match="1 abandoned too_few_reports.*1 aborted"):
        coordinator.wait_for_rounds(task, 1, seconds_max=0)


def test_the_callers_configuration_changes_nothing(tmp_path, monkeypatch):
    # Each of these would end the coordinator, or make it listen or write elsewhere.
    (tmp_path / "folkmoot.toml").write_text('[database]\nurl = "postgres://127.0.0.1:1/production"\n')
    for name, value in (
        ("FOLKMOOT_DATABASE_URL", "postgres://127.0.0.1:1/production"),
        ("FOLKMOOT_CONFIG", "absent.toml"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    # A path that is relative to the caller's folder names the same program.
    program = os.path.relpath(shutil.which(PROGRAM))
    with Coordinator("used", program=program) as coordinator:
        key = coordinator.api_key
        assert coordinator.folder == tmp_path / "used" and (coordinator.folder / "data" / "folkmoot.db").is_file()
        assert coordinator.call("task", "list") == []
        assert not {"FOLKMOOT_DATABASE_URL", "FOLKMOOT_CONFIG"} & set(coordinator.environment)
    with Coordinator("used", program=program) as again:
        assert again.api_key == key and list(again.admin.tasks()) == []
    (tmp_path / "used" / "data" / "first-api-key").unlink()
    with pytest.raises(StartError, match="its API key is missing.*give a new folder"):
        Coordinator("used", program=program)


@pytest.mark.skipif(os.name == "nt", reason="the program is a script for a POSIX shell")
def test_a_program_that_is_no_coordinator_is_named(tmp_path):
    script = tmp_path / "program"
    for text, words in (
        ("#!/bin/sh\necho wrong >&2\nexit 3\n", "did not start and ended with code 3: wrong"),
        ("#!/bin/sh\necho said\n", "ended with code 0: said"),
        ("#!/bin/sh\necho 4\n", "ended with code 0: 4"),
        ("#!/absent/interpreter\n", "program cannot be run: No such file or directory"),
    ):
        script.write_text(text)
        script.chmod(0o700)
        with pytest.raises(StartError, match=words):
            Coordinator(program=script)
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers), "none is left to kill a process later"


def test_errors_say_what_to_do(tmp_path, monkeypatch, coordinator):
    monkeypatch.setenv("FOLKMOOT_PROGRAM", str(tmp_path / "absent"))
    with pytest.raises(
        folkmoot.BadOptionError, match="absent`, which is the coordinator.*cargo build.*FOLKMOOT_PROGRAM"
    ):
        Coordinator()
    with pytest.raises(StartError, match="did not start"):
        Coordinator(program=sys.executable)
    with pytest.raises(StartError, match="report_gaol"):
        coordinator.create_task(
            task_text("a", report_goal=1, rounds=1).replace("report_goal", "report_gaol"), model(tmp_path)
        )
