"""The code of the guide for notebooks, and of the newer sections of the guide for Python, runs as shown."""

import asyncio
import re

import folkmoot
import numpy as np
import pytest
from small_task import PROGRAM
from test_guide import DIGITS, REPOSITORY, program

GUIDE = (REPOSITORY / "docs" / "guides" / "notebooks.md").read_text()


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLKMOOT_PROGRAM", PROGRAM)


def test_tables(capsys):
    pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    pytest.importorskip("pandas", reason="pandas is not installed: `cargo xtask test --only python` installs it")
    scope = {}
    exec(program("contributions=True", "notebooks.md"), scope)
    printed = capsys.readouterr().out
    [promised] = re.findall(r"held-out metric (0\.\d+),", GUIDE)
    [quoted] = re.findall(r"^9 +10 +(0\.\d+) bytes$", GUIDE, re.MULTILINE)
    assert scope["done"].summary["held_out_metric"] == pytest.approx(float(promised), abs=0.01)
    assert scope["done"].summary["held_out_metric"] == pytest.approx(float(quoted), abs=0.01)
    assert "bytes" in printed and "shapley" in printed and len(printed.splitlines()) == 9


def test_estimators(capsys, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    exec(program("FederatedClassifier", "notebooks.md"), {})
    even, skewed, loss = capsys.readouterr().out.splitlines()
    promised = re.findall(r"^(?:iid|shards:1) (0\.\d+)$", GUIDE, re.MULTILINE)
    printed = [float(line.split()[1]) for line in (even, skewed)]
    assert printed == pytest.approx([float(figure) for figure in promised], abs=0.02)
    assert float(even.split()[1]) > float(skewed.split()[1]) > 0.3 and loss == "softmax_cross_entropy"
    assert (tmp_path / "iris.onnx").is_file()


def test_modules_of_torch(coordinator, capsys):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    scope = {}
    exec(program("federated.simulate", "notebooks.md"), scope)
    assert float(capsys.readouterr().out) > 0.85
    scope |= {"folkmoot": folkmoot, "url": coordinator.url, "token": "token", "ca": coordinator.certificate}
    exec(program("ModuleTrainer(\n", "notebooks.md"), scope)
    scope["client"].close()
    assert isinstance(scope["trainer"].module, torch.nn.Module)


def test_an_event_loop(coordinator, capsys):
    task = coordinator.create_task(DIGITS / "task.toml", DIGITS / "model.onnx")
    scope = {}
    exec(program("from folkmoot import aio"), scope)
    table = np.loadtxt(DIGITS / "digits.csv", delimiter=",", max_rows=100)
    token = coordinator.create_token("digits")
    asyncio.run(
        scope["train"](coordinator.url, token, coordinator.certificate, table[:, :64], table[:, 64].astype(int))
    )
    assert capsys.readouterr().out.splitlines() == ["round 1", "round 2", "round 3"]
    coordinator.wait_for_rounds(task, 3)


def test_a_test_of_an_apps_training(coordinator):
    scope = {}
    exec(program("def test_the_app_trains"), scope)
    scope["test_the_app_trains"](coordinator)
    exec(program("pytest_plugins"), scope)
    assert scope["pytest_plugins"] == ["folkmoot.testing.fixtures"]


def test_a_strategy_of_flower_as_keys(capsys):
    pytest.importorskip("flwr", reason="Flower is not installed: `cargo xtask test --only python` installs it")
    exec(program("import task_keys"), {})
    assert "'report_goal': 20" in capsys.readouterr().out
