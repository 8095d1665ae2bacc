"""The wheel alone, in an environment without anything else: eleven lines train."""

import os
import subprocess
import sys

import numpy as np
import pytest
from small_task import linear_model, task_text

WHEEL = os.environ.get("FOLKMOOT_WHEEL")

LINES = """
import random
import folkmoot

random.seed(1)
x = [[random.gauss(0, 1), random.gauss(0, 1)] for _ in range(64)]
y = [3 * first - second + 0.5 for first, second in x]
with folkmoot.Client({url!r}, state_directory="state", enrolment_token={token!r}, certificate={ca!r}) as client:
    client.examples.add(x, y)
    client.on("round", lambda event: print("round", event.round_number))
    client.run(rounds=10)
    print(client.predict([[1.0, 1.0]]))
"""


@pytest.mark.skipif(WHEEL is None, reason="FOLKMOOT_WHEEL names no wheel: `cargo xtask test --only python` makes one")
def test_the_wheel_in_a_clean_environment(coordinator, tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", WHEEL]
    subprocess.run(pip, check=True)
    model = linear_model(tmp_path / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))
    task = coordinator.create_task(task_text("wheel", report_goal=1, rounds=10), model)
    script = LINES.format(url=coordinator.url, token=coordinator.create_token("wheel"), ca=str(coordinator.certificate))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([python, "-c", script], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:10] == [f"round {number}" for number in range(1, 11)]
    assert abs(float(lines[10].strip("[]")) - 2.5) < 0.5
    coordinator.wait_for_rounds(task, 10)
    np.testing.assert_allclose(coordinator.weights(task)["weight"][:, 0], [3.0, -1.0], atol=0.1)
