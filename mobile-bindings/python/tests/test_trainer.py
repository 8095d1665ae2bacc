"""Custom training loops, against a real coordinator."""

import logging
import signal
import subprocess
import sys
from pathlib import Path

import folkmoot
import numpy as np
import pytest
from folkmoot._native import folkmoot_mobile as native
from folkmoot.trainer import NativeTrainer
from small_task import linear_model, task_text


class LeastSquares(folkmoot.Trainer):
    """One step of gradient descent on all examples."""

    def __init__(self, x, y, rate=0.1, in_place=False):
        self.x, self.y, self.rate, self.in_place = x, y, rate, in_place
        self.seen = []

    def example_count(self):
        return len(self.x)

    def train(self, work):
        self.seen.append(work)
        weight, bias = work.weights["weight"], work.weights["bias"]
        error = self.x @ weight + bias - self.y
        steps = {"weight": self.x.T @ error, "bias": error.sum(0)}
        loss = float((error**2).mean())
        if not self.in_place:
            new = {name: work.weights[name] - self.rate * step / len(self.x) for name, step in steps.items()}
            return folkmoot.Trained(weights=new, example_count=len(self.x), loss=loss)
        for name, step in steps.items():
            work.weights[name] -= (self.rate * step / len(self.x)).astype(np.float32)
        return folkmoot.Trained(weights=work.weights, example_count=len(self.x), loss=loss)


def start(coordinator, tmp_path, name, *, rounds, report_goal=1, **more):
    weight, bias = np.full((3, 1), 0.5, np.float32), np.full(1, -0.25, np.float32)
    model = linear_model(tmp_path / "model.onnx", weight, bias)
    task = coordinator.create_task(task_text(name, report_goal=report_goal, rounds=rounds, **more), model)
    return task, coordinator.create_token(name)


def connect(coordinator, tmp_path, token, trainer, **more):
    certificate = coordinator.certificate
    return folkmoot.Client(
        coordinator.url,
        state_directory=tmp_path,
        enrolment_token=token,
        certificate=certificate,
        trainer=trainer,
        **more,
    )


def data(generator, count=40):
    x = generator.normal(size=(count, 3)).astype(np.float32)
    return x, (x @ np.array([[1.0], [2.0], [-1.0]], np.float32))


@pytest.mark.parametrize("in_place", [False, True])
def test_what_a_loop_returns_is_the_next_version(coordinator, tmp_path, generator, in_place):
    task, token = start(coordinator, tmp_path, "own", rounds=3)
    x, y = data(generator)
    trainer = LeastSquares(x, y, in_place=in_place)
    with connect(coordinator, tmp_path / "state", token, trainer) as client:
        assert client.run(rounds=3) == 3
    rounds = coordinator.wait_for_rounds(task, 3)
    assert [one["accepted"] for one in rounds] == [1, 1, 1]
    weight, bias = np.full((3, 1), 0.5), np.full(1, -0.25)
    for _ in range(3):
        error = x @ weight + bias - y
        weight, bias = weight - 0.1 * x.T @ error / len(x), bias - 0.1 * error.sum(0) / len(x)
    reached = coordinator.weights(task)
    # The loop uses float32, and the grid has steps of 2^-28.
    np.testing.assert_allclose(reached["weight"], weight, atol=1e-6)
    np.testing.assert_allclose(reached["bias"], bias, atol=1e-6)
    assert [work.round_number for work in trainer.seen] == [1, 2, 3]
    assert trainer.seen[0].plan["training"]["batch_size"] == 8
    assert trainer.seen[0].shapes == {"weight": (3, 1), "bias": (1,)}


def test_weights_that_are_kept_stay_what_they_were(coordinator, tmp_path, generator):
    _, token = start(coordinator, tmp_path, "kept", rounds=3)
    trainer = LeastSquares(*data(generator))
    with connect(coordinator, tmp_path / "state", token, trainer) as client:
        client.run(rounds=3)
    # The client has sent its updates and is closed; the arrays own their memory.
    np.testing.assert_array_equal(trainer.seen[0].weights["weight"], np.full((3, 1), 0.5, np.float32))
    assert trainer.seen[0].is_stopped is False
    assert trainer.seen[0].is_asked is False


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda own: {"weight": own["weight"]}, "the weights ['weight'], but the model has ['bias', 'weight']"),
        (lambda own: {**own, "weight": own["weight"].T.copy()}, "with the shape (1, 3); it must be (3, 1)"),
        (lambda own: [own["weight"]], "1 weights; the model has 2: weight, bias"),
        (lambda own: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_loop_that_fails_gives_up_and_says_how_in_the_log(coordinator, tmp_path, generator, caplog, weights, words):
    _, token = start(coordinator, tmp_path, "failing", rounds=2)

    class Failing(LeastSquares):
        def train(self, work):
            if not self.seen:
                self.seen.append(work)
                return folkmoot.Trained(weights=weights(work.weights), example_count=1, loss=0.0)
            return super().train(work)

    aborted = []
    with connect(coordinator, tmp_path / "state", token, Failing(*data(generator)), wait_seconds=1) as client:
        client.on("aborted", aborted.append)
        with caplog.at_level(logging.ERROR, logger="folkmoot"):
            client.run(rounds=1)
    assert [event.reason for event in aborted] == ["training_failed"]
    assert words in caplog.text
    assert "log" in aborted[0].detail and words not in aborted[0].detail


def test_a_loop_measures_where_the_plan_evaluates(coordinator, tmp_path, generator):
    x, y = data(generator)

    class Measuring(LeastSquares):
        def evaluate(self, work):
            error = x @ work.weights["weight"] + work.weights["bias"] - y
            return folkmoot.Evaluated(example_count=len(x), loss=float((error**2).mean()))

    class Given:
        """The inputs of an evaluation, without a coordinator that evaluates."""

        def weights(self):
            return native.FloatBuffer.zeros(4)

        def tensors(self):
            return [native.TensorSpec(name="weight", shape=[3, 1]), native.TensorSpec(name="bias", shape=[1])]

        assignment_id = task_id = plan = lambda self: "{}"
        round_number = base_version = lambda self: 1

    measured = NativeTrainer(Measuring(x, y)).evaluate(Given())
    assert measured.example_count == 40
    np.testing.assert_allclose(measured.loss_sum, (y**2).sum(), rtol=1e-6)
    assert NativeTrainer(LeastSquares(x, y)).evaluate(Given()) is None


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
import numpy as np, folkmoot
from test_trainer import LeastSquares

class Slow(LeastSquares):
    def train(self, work):
        print("training", work.assignment_id, flush=True)
        time.sleep({pause})
        return super().train(work)

x = np.array({x!r}, np.float32); y = np.array({y!r}, np.float32)
with folkmoot.Client({url!r}, state_directory={state!r}, enrolment_token={token!r}, certificate={ca!r}, trainer=Slow(x, y)) as client:
    client.on("round", lambda event: print("accepted", event.assignment_id, flush=True))
    client.run(rounds=1)
"""


def test_a_process_that_is_killed_while_it_trains_loses_and_doubles_nothing(coordinator, tmp_path, generator):
    task, token = start(coordinator, tmp_path, "killed", rounds=1)
    x, y = data(generator, 8)
    values = {"x": x.tolist(), "y": y.tolist(), "url": coordinator.url, "state": str(tmp_path / "state")}
    values |= {"token": token, "ca": str(coordinator.certificate), "tests": str(Path(__file__).parent)}

    def child(pause):
        command = [sys.executable, "-c", CHILD.format(pause=pause, **values)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    lines = []
    for pause in (60, 60):
        process = child(pause)
        lines.append(process.stdout.readline().split())
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        process.stdout.close()
    output, _ = child(0).communicate(timeout=120)
    lines += [line.split() for line in output.splitlines()]
    assert [word for word, _ in lines] == ["training", "training", "training", "accepted"]
    assert len({assignment for _, assignment in lines}) == 1, "it continues the same assignment"
    rounds = coordinator.wait_for_rounds(task, 1)
    assert [(one["cohort"], one["accepted"], one["phase"]) for one in rounds] == [(1, 1, "committed")]
    error = x @ np.full((3, 1), 0.5) - 0.25 - y
    expected = 0.5 - 0.1 * x.T @ error / len(x)
    np.testing.assert_allclose(coordinator.weights(task)["weight"], expected, atol=1e-6)


def test_a_killed_training_of_the_engine_goes_on(coordinator, tmp_path, generator):
    task, token = start(coordinator, tmp_path, "engine", rounds=1)
    x, y = data(generator, 64)
    script = """
import sys, time
from functools import partial
import numpy as np, folkmoot
x = np.array({x!r}, np.float32); y = np.array({y!r}, np.float32)
with folkmoot.Client({url!r}, state_directory={state!r}, enrolment_token={token!r}, certificate={ca!r}, device="cpu") as client:
    client.examples.add(x, y)
    def tell(word, event):
        print(word, event.assignment_id, flush=True)
        if sys.argv[1:] == [word]:  # It stands here until it is killed.
            time.sleep(60)
    for name in ("training", "uploading", "round"):
        client.on(name, partial(tell, name))
    client.run(rounds=1)
""".format(
        x=x.tolist(), y=y.tolist(), url=coordinator.url, state=str(tmp_path / "s"), token=token,
        ca=str(coordinator.certificate),
    )  # fmt: skip
    assignments = set()
    for word in ("training", "uploading"):
        process = subprocess.Popen([sys.executable, "-c", script, word], stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            assignments.add(line.split()[1])
            if line.split()[0] == word:
                break
        process.kill()
        process.wait(30)
        process.stdout.close()
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    assignments |= {line.split()[1] for line in done.stdout.splitlines()}
    # If the process was killed after its last byte had arrived, the update is already accepted, and no second event
    # follows.
    assert len(assignments) == 1 and done.returncode == 0
    rounds = coordinator.wait_for_rounds(task, 1)
    assert [(one["cohort"], one["accepted"]) for one in rounds] == [(1, 1)]


def test_a_program_that_ends_while_it_trains_ends_in_order(coordinator, tmp_path, generator):
    _, token = start(coordinator, tmp_path, "ending", rounds=1)
    script = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np, folkmoot
from test_trainer import LeastSquares

training = threading.Event()

class Waits(LeastSquares):
    def train(self, work):
        training.set()
        while not work.is_stopped:
            pass
        raise RuntimeError("nobody wants it any more")

trainer = Waits(np.ones((2, 3), np.float32), np.ones((2, 1), np.float32))
ca = {str(coordinator.certificate)!r}
client = folkmoot.Client({coordinator.url!r}, state_directory={str(tmp_path / "s")!r}, enrolment_token={token!r}, certificate=ca, trainer=trainer)
client.start()
assert training.wait(60)
"""
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr
