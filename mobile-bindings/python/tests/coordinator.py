"""A real coordinator in a separate process, over TLS."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper

PATIENCE_SECONDS = 60
PROGRAM = os.environ.get("FOLKMOOT_PROGRAM", "folkmoot")


class Coordinator:
    """Runs `folkmoot serve` on a free port until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "data" / "ca.pem"
        self.log = (folder / "coordinator.log").open("wb")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", "--json"],
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        line = self.process.stdout.readline()
        assert line, (folder / "coordinator.log").read_text()
        serving = json.loads(line)
        self.url = serving["url"]
        self.environment = {
            **os.environ,
            "FOLKMOOT_URL": self.url,
            "FOLKMOOT_CA": str(self.certificate),
            "FOLKMOOT_API_KEY": serving["first_api_key"],
        }

    def call(self, *arguments: str) -> Any:
        """Runs an operator's command and returns its output."""
        done = subprocess.run(
            [PROGRAM, *arguments, "--json"], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def task(self, description: str, model: Path) -> str:
        """Creates and starts a task, and returns its id."""
        path = self.folder / "task.toml"
        path.write_text(description)
        return self.call("task", "create", str(path), "--model", str(model), "--activate")["id"]

    def token(self, population: str) -> str:
        """Returns an enrolment token."""
        return self.call("token", "create", population)["token"]

    def rounds(self, task: str) -> list[dict]:
        """The task's rounds, oldest first."""
        return list(reversed(self.call("task", "rounds", task, "--limit", "100")))

    def committed(self, task: str, rounds: int) -> list[dict]:
        """Waits until this many rounds are committed, and returns all rounds."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            all_rounds = self.rounds(task)
            if sum(one["phase"] == "committed" for one in all_rounds) >= rounds:
                return all_rounds
            assert time.monotonic() < until, all_rounds
            time.sleep(0.05)

    def weights(self, task: str) -> dict:
        """The weights of the newest version, by name."""
        path = self.folder / "downloaded.onnx"
        self.call("model", "download", task, "--out", str(path))
        tensors = onnx.load(path).graph.initializer
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}

    def close(self) -> None:
        """Ends the process."""
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()


def linear_model(path: Path, weight, bias) -> Path:
    """Writes the model `y = x · weight + bias`."""
    inputs, outputs = weight.shape
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", outputs])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def task_text(
    name: str,
    *,
    report_goal: int,
    rounds: int,
    loss: str = "mean_squared_error",
    plan: str = "",
    settings: str = "",
) -> str:
    """Returns a task whose rounds take all clients. `settings` are tables of their own."""
    return f"""
name = "{name}"
population = "{name}"

[plan]
loss = "{loss}"
epochs = 1
batch_size = 8
optimizer = {{ sgd = {{ learning_rate = 0.1 }} }}
{plan}

[scheduling]
kind = "synchronous"
report_goal = {report_goal}
minimum_cohort = {report_goal}
over_selection_factor = 1.0
reporting_deadline_seconds = 120
{settings}
[stop]
rounds = {rounds}
"""
