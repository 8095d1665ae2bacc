"""The examples work as their READMEs say."""

import os
import subprocess
import sys
from pathlib import Path

import folkmoot
import numpy as np
import pytest
from small_task import linear_model, task_text

EXAMPLES = Path(__file__).parents[3] / "examples"
TABLE = EXAMPLES / "tabular-silo" / "breast_cancer.csv"


def start(command, folder, **environment):
    everything = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    # Separate, because a graphics driver prints messages on a machine without a display.
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *command], cwd=folder, env=everything, **pipes)


def hospitals(coordinator):
    task = (EXAMPLES / "tabular-silo" / "task.toml").read_text()
    return coordinator.create_task(task, EXAMPLES / "models" / "logistic_regression.onnx"), coordinator.create_token(
        "hospitals"
    )


def ended(processes):
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), outputs
    return [said for said, _ in outputs]


def accuracy_of(weights):
    table = np.loadtxt(TABLE, delimiter=",", skiprows=1)
    x = (table[:, :-1] - table[:, :-1].mean(0)) / table[:, :-1].std(0)
    logits = x @ weights["logit.weight"][0] + weights["logit.bias"][0]
    return ((logits > 0) == (table[:, -1] > 0.5)).mean()


def test_three_hospitals(coordinator, tmp_path):
    task, token = hospitals(coordinator)
    more = ["--coordinator", coordinator.url, "--ca", str(coordinator.certificate)]
    script = str(EXAMPLES / "tabular-silo" / "hospital.py")
    outputs = ended([start([script, str(number), *more], tmp_path, FOLKMOOT_TOKEN=token) for number in range(3)])
    for output in outputs:
        assert output.splitlines()[:10] == [f"round {number}" for number in range(1, 11)]
        assert float(output.split()[-1]) > 0.9
    coordinator.wait_for_rounds(task, 10)
    assert accuracy_of(coordinator.weights(task)) > 0.95


def test_a_client_from_flower(coordinator, tmp_path):
    pytest.importorskip("flwr")
    task, token = hospitals(coordinator)
    script = str(EXAMPLES / "flower-migration" / "folkmoot_client.py")
    more = [coordinator.url, str(coordinator.certificate)]
    outputs = ended([start([script, str(number), *more], tmp_path, FOLKMOOT_TOKEN=token) for number in range(3)])
    assert all("round 10" in output for output in outputs)
    coordinator.wait_for_rounds(task, 10)
    assert accuracy_of(coordinator.weights(task)) > 0.95


def test_three_silos_with_pytorch(coordinator, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = EXAMPLES / "pytorch-silo"
    # One thread each, because three processes share few cores.
    slim = {"OMP_NUM_THREADS": "1"}
    [written] = ended([start([str(folder / "model.py"), "picture.onnx"], tmp_path, **slim)])
    assert "convolution.weight [16, 1, 3, 3]" in written
    task = coordinator.create_task((folder / "task.toml").read_text(), tmp_path / "picture.onnx")
    more = ["--coordinator", coordinator.url, "--ca", str(coordinator.certificate)]
    slim["FOLKMOOT_TOKEN"] = coordinator.create_token("silos")
    script = str(folder / "silo.py")
    outputs = ended([start([script, str(number), *more], tmp_path, **slim) for number in range(3)])
    for output in outputs:
        assert output.splitlines()[:10] == [f"round {number}" for number in range(1, 11)]
        assert float(output.split()[-1]) > 0.9
    print(*outputs)
    assert all(one["accepted"] == 3 for one in coordinator.wait_for_rounds(task, 10))


def test_the_guides_first_program(coordinator, tmp_path):
    guide = (EXAMPLES.parent / "docs" / "guides" / "python.md").read_text()
    program = guide.split("```python\n")[1].split("```")[0]
    digits = EXAMPLES / "digits"
    # At the example's own learning rate, the last batch of five digits sometimes makes the model worse, in 1 of 2,000
    # runs below 0.9.
    description = (digits / "task.toml").read_text().replace("learning_rate = 0.1", "learning_rate = 0.05")
    task = coordinator.create_task(description, digits / "model.onnx")
    replaced = {
        "https://127.0.0.1:8443": coordinator.url,
        'enrolment_token="…"': f"enrolment_token={coordinator.create_token('digits')!r}",
        "folkmoot-data/ca.pem": str(coordinator.certificate),
        "examples/digits/digits.csv": str(digits / "digits.csv"),
    }
    for words, here in replaced.items():
        assert words in program
        program = program.replace(words, here)
    # On a server, nothing names a folder for the files of a session.
    process = start(["-c", program], tmp_path, XDG_RUNTIME_DIR=None)
    output, complaint = process.communicate(timeout=120)
    assert process.returncode == 0 and "XDG_RUNTIME_DIR" not in complaint, complaint
    lines = output.splitlines()
    assert lines[:10] == [f"round {number}" for number in range(1, 11)]
    assert lines[10].startswith("right: ") and float(lines[10].split()[1]) > 0.9
    print(lines[10])
    coordinator.wait_for_rounds(task, 10)


def test_the_guides_own_loop(coordinator, tmp_path):
    guide = (EXAMPLES.parent / "docs" / "guides" / "python.md").read_text()
    blocks = [part.split("```")[0] for part in guide.split("```python\n")]
    [program] = [block for block in blocks if "class Regression" in block]
    scope = {"folkmoot": folkmoot, "url": coordinator.url, "token": coordinator.create_token("loop")}
    scope |= {"ca": coordinator.certificate, "x": np.ones((4, 2), np.float32), "y": np.ones((4, 1), np.float32)}
    zeros = {"weight": np.zeros((2, 1), np.float32), "bias": np.zeros(1, np.float32)}
    model = linear_model(tmp_path / "model.onnx", zeros["weight"], zeros["bias"])
    task = coordinator.create_task(task_text("loop", report_goal=1, rounds=1), model)
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        exec(program, scope)
    finally:
        os.chdir(here)
    with scope["client"] as client:
        client.run(rounds=1)
    coordinator.wait_for_rounds(task, 1)
    np.testing.assert_allclose(coordinator.weights(task)["weight"], [[0.1], [0.1]], atol=1e-6)
