"""The clients that systemd keeps running: the small board, and an institution's silo with PyTorch."""

import contextlib
import os
import queue
import signal
import threading

import pytest
from test_examples import EXAMPLES, ended, start

DIGITS = EXAMPLES / "digits"
PATIENCE_SECONDS = 60

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the services are those of systemd")


class Service:
    """A process as systemd starts it. `heard` waits for words in its log."""

    def __init__(self, script, folder, coordinator, **environment):
        environment |= {"FOLKMOOT_URL": coordinator.url, "FOLKMOOT_CA": str(coordinator.certificate)}
        environment |= {"STATE_DIRECTORY": str(folder), "FOLKMOOT_DATA": str(DIGITS / "digits.csv")}
        self.process = start([str(EXAMPLES / script)], folder, **environment)
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=lambda: [self._lines.put(line) for line in self.process.stderr])
        self._reader.start()

    def heard(self, words):
        """Waits for a line with these words, and returns it."""
        seen = []
        with contextlib.suppress(queue.Empty):
            while True:
                seen.append(self._lines.get(timeout=PATIENCE_SECONDS))
                if words in seen[-1]:
                    return seen[-1]
        raise AssertionError(f"the service did not say `{words}`: {seen}")

    def ended(self, number=None):
        """Sends a signal, waits for the end, and returns the exit code."""
        if number is not None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def service(coordinator, tmp_path):
    with contextlib.ExitStack() as opened:

        def begin(script, **environment):
            return opened.enter_context(contextlib.closing(Service(script, tmp_path, coordinator, **environment)))

        yield begin


def board(service, token, **environment):
    """Starts the board's program. Without a sensor of its own, a test has none: the machine that runs it may be hot."""
    return service("raspberry-pi/board.py", **{"FOLKMOOT_TOKEN": token, "FOLKMOOT_SENSOR": "/nowhere", **environment})


def digits_for_ever(coordinator):
    endless = (DIGITS / "task.toml").read_text().replace("rounds = 10", "rounds = 100000")
    return coordinator.create_task(endless, DIGITS / "model.onnx"), coordinator.create_token("digits")


def test_a_board_goes_on_after_its_power_was_cut_and_stops_when_told(coordinator, service):
    task, token = digits_for_ever(coordinator)
    cut = board(service, token)
    coordinator.wait_for_rounds(task, 2)
    cut.ended(signal.SIGKILL)
    before = sum(one["phase"] == "committed" for one in coordinator.rounds(task))
    again = board(service, token)
    # One round may have been in progress; the second process does the rest.
    coordinator.wait_for_rounds(task, before + 3)
    again.heard("has this update")
    assert again.ended(signal.SIGINT) == 0


def test_a_board_that_is_refused_ends_for_good(service):
    refused = board(service, "no-such-token")
    refused.heard("enrolment_token_invalid")
    assert refused.ended() == 3


def test_a_board_that_is_too_hot_waits_until_it_has_cooled_down(coordinator, service, tmp_path):
    sensor = tmp_path / "temp"
    sensor.write_text("81500\n")
    task, token = digits_for_ever(coordinator)
    hot = board(service, token, FOLKMOOT_SENSOR=str(sensor))
    hot.heard("paused: thermal")
    assert not any(one["accepted"] for one in coordinator.rounds(task))
    sensor.write_text("55000\n")
    hot.heard("resumed")
    coordinator.wait_for_rounds(task, 1)
    assert hot.ended(signal.SIGTERM) == 0


def test_a_silo_of_an_institution_with_pytorch(coordinator, service, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = EXAMPLES / "pytorch-silo"
    slim = {"OMP_NUM_THREADS": "1", "CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")}
    ended([start([str(folder / "model.py"), "picture.onnx"], tmp_path, **slim)])
    text = (folder / "task.toml").read_text()
    alone = text.replace("report_goal = 3", "report_goal = 1").replace("minimum_cohort = 3", "minimum_cohort = 1")
    task = coordinator.create_task(alone, tmp_path / "picture.onnx")
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "enrolment-token").write_text(coordinator.create_token("silos") + "\n")
    # By default, a silo does not take part alone.
    silo = service("pytorch-silo/service.py", FOLKMOOT_COHORT_MIN="1", **slim)
    assert '"batch_size": 32' in silo.heard(f"round 1 of task {task}")
    silo.heard("round 2 has this update")
    assert silo.ended(signal.SIGTERM) == 0
    coordinator.wait_for_rounds(task, 2)
