"""A process that is killed in any state of its session continues: nothing is lost, and nothing counts twice."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from small_task import linear_model, task_text

PATIENCE_SECONDS = 60
FEATURES = 20_000
"""Wide enough that building an update takes a while."""

STATES = ["checked_in", "assigned", "training", "preparing", "uploading", "done", "aborting", "backing_off", "idle"]
"""All states in which a process has something to lose. `stopped` waits for a person."""

CHILD = """
import sys, time
import numpy as np, folkmoot
url, state, token, ca, features, pause, failing = sys.argv[1:]

class Slow(folkmoot.Trainer):
    failed = False

    def example_count(self):
        return 8

    def train(self, work):
        print("training", work.assignment_id, flush=True)
        time.sleep(float(pause))
        if failing == "yes" and not Slow.failed:
            Slow.failed = True
            raise ValueError("on purpose")
        weights = {name: value + 0.25 for name, value in work.weights.items()}
        return folkmoot.Trained(weights=weights, example_count=8, loss=1.0)

with folkmoot.Client(url, state_directory=state, enrolment_token=token, certificate=ca, trainer=Slow(), wait_seconds=1) as client:
    client.on("round", lambda event: print("accepted", event.assignment_id, flush=True))
    client.run(rounds=1)
"""


class Line:
    """A port that leads to the coordinator, and can be slow or cut. It stays when the coordinator gets another `port`."""

    def __init__(self, port):
        self.port, self.pause, self.is_cut = port, 0.0, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source, target):
        try:
            while data := source.recv(1 << 16):
                time.sleep(self.pause)
                if self.is_cut:
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


@contextmanager
def line_to(coordinator):
    line = Line(int(coordinator.url.rsplit(":", 1)[1]))
    try:
        yield line
    finally:
        line.close()


def state_of(folder):
    """Returns the state that a process would start with."""
    try:
        return json.loads((folder / "session.json").read_bytes())["session"]["state"]["state"]
    except (FileNotFoundError, ValueError):
        return None


def is_held(process, folder, wanted):
    """Stops the process, and returns whether it is still in the state. If not, it continues."""
    process.send_signal(signal.SIGSTOP)
    # All its threads are now stopped.
    os.waitpid(process.pid, os.WUNTRACED)
    if state_of(folder) == wanted:
        return True
    process.send_signal(signal.SIGCONT)
    return False


def start(coordinator, tmp_path, population, features=FEATURES):
    model = linear_model(tmp_path / "model.onnx", np.zeros((features, 1), np.float32), np.zeros(1, np.float32))
    task = coordinator.create_task(task_text(population, report_goal=1, rounds=1), model)
    return task, coordinator.create_token(population)


@pytest.mark.parametrize("wanted", STATES)
def test_a_process_that_is_killed_goes_on(coordinator, tmp_path, wanted):
    folder = tmp_path / "state"
    # A client without work waits: in these two states there is no task yet.
    is_early = wanted in ("checked_in", "idle")
    # The prepared update must be large, so that preparing it takes long enough to be noticed.
    features = 2_000_000 if wanted == "preparing" else FEATURES
    task, token = (
        (None, coordinator.create_token("killed")) if is_early else start(coordinator, tmp_path, "killed", features)
    )
    with line_to(coordinator) as line:
        arguments = [line.url, folder, token, coordinator.certificate, FEATURES]

        def child(pause=0.0, failing="no"):
            command = [sys.executable, "-c", CHILD, *map(str, arguments), str(pause), failing]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        process = child(pause=60 if wanted == "training" else 0.2, failing="yes" if wanted == "aborting" else "no")
        line.pause = 0.05 if wanted in ("assigned", "uploading", "done", "aborting") else 0.0
        until = time.monotonic() + PATIENCE_SECONDS
        while (found := state_of(folder)) != wanted or not is_held(process, folder, wanted):
            if wanted == "backing_off" and found in ("training", "uploading"):
                line.is_cut = True
            assert time.monotonic() < until, f"{wanted} was not seen, but {found}"
            assert process.poll() is None, process.stdout.read()
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        said = process.stdout.read().splitlines()
        process.stdout.close()
        line.pause, line.is_cut = 0.0, False
        if task is None:
            task, _ = start(coordinator, tmp_path, "killed")
        before = state_of(folder)
        again = child()
        if wanted == "done":
            # Its update was already accepted, so there is no second round to wait for.
            coordinator.wait_for_rounds(task, 1)
            again.terminate()
        output, _ = again.communicate(timeout=120)
    assert before == wanted or wanted == "idle", "the file is what the process left"
    said += output.splitlines()
    rounds = [one for one in coordinator.wait_for_rounds(task, 1) if one["phase"] == "committed"]
    assert [(one["cohort"], one["accepted"], one["version"]) for one in rounds] == [(1, 1, 1)], coordinator.rounds(task)
    # One more quarter. An update that counted twice, or was trained twice, would give a different result.
    np.testing.assert_allclose(coordinator.weights(task)["weight"], 0.25, atol=1e-6)
    accepted = {line.split()[1] for line in said if line.startswith("accepted")}
    trained = [line.split()[1] for line in said if line.startswith("training")]
    assert accepted <= set(trained)
    if wanted != "aborting":
        assert len(set(trained)) == 1, "it continues the same assignment"
