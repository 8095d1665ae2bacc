"""The guide's code beyond a first round runs as shown."""

import os
import threading
from pathlib import Path

import folkmoot
import numpy as np
import pytest
from small_task import PROGRAM

REPOSITORY = Path(__file__).parents[3]
DIGITS = REPOSITORY / "examples" / "digits"
PATIENCE_SECONDS = 60


def program(words, name="python.md"):
    """Returns a guide's only block of Python that contains these words, with paths into the repository."""
    guide = (REPOSITORY / "docs" / "guides" / name).read_text()
    blocks = [part.split("```")[0] for part in guide.split("```python\n")[1:]]
    [block] = [block for block in blocks if words in block]
    return block.replace('"examples/', f'"{REPOSITORY.as_posix()}/examples/')


def test_an_operators_notebook(coordinator, tmp_path, monkeypatch, capsys):
    pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    for name in ("FOLKMOOT_URL", "FOLKMOOT_API_KEY", "FOLKMOOT_CA"):
        monkeypatch.setenv(name, coordinator.environment[name])
    monkeypatch.chdir(tmp_path)
    has_token = threading.Event()

    class Scope(dict):
        def __setitem__(self, name, value):
            super().__setitem__(name, value)
            if name == "token":
                has_token.set()

    scope = Scope()
    notebook = threading.Thread(target=exec, args=(program("Admin.from_environment"), {}, scope))
    notebook.start()
    assert has_token.wait(PATIENCE_SECONDS)
    table = np.loadtxt(DIGITS / "digits.csv", delimiter=",")
    with folkmoot.Client(
        coordinator.url,
        state_directory=tmp_path / "state",
        enrolment_token=scope["token"],
        certificate=coordinator.certificate,
        device="cpu",
    ) as client:
        client.examples.add(table[:, :64], table[:, 64].astype(int))
        client.run(rounds=10)
    notebook.join(PATIENCE_SECONDS)
    assert not notebook.is_alive()
    assert capsys.readouterr().out.splitlines() == [f"{number} committed 1" for number in range(1, 11)]
    assert (tmp_path / "trained.onnx").stat().st_size == (DIGITS / "model.onnx").stat().st_size


def test_models_of_pytorch_and_scikit_learn(tmp_path, monkeypatch, capsys, generator):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    monkeypatch.chdir(tmp_path)
    scope = {"torch": torch, "module": torch.nn.Linear(64, 10), "x": generator.normal(size=(40, 3))}
    scope |= {"y": (scope["x"][:, 0] > 0).astype(int), "make_pipeline": make_pipeline}
    scope |= {"StandardScaler": StandardScaler, "LogisticRegression": LogisticRegression}
    exec(program("sklearn_to_onnx"), scope)
    said = capsys.readouterr().out
    assert said.startswith("binary_cross_entropy [") and "'linear.weight': (1, 3)" in said
    assert (tmp_path / "model.onnx").is_file() and (tmp_path / "picture.onnx").is_file()


def test_a_simulation(monkeypatch, capsys):
    monkeypatch.setenv("FOLKMOOT_PROGRAM", PROGRAM)
    exec(program("progress=lambda"), {"folkmoot": folkmoot})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:10]] == [str(number) for number in range(1, 11)]
    assert lines[10].split()[1] == "10"


@pytest.mark.parametrize(
    ("words", "name", "least"),
    [
        ("def momentum", "python.md", [20, 0.85]),
        ("import FlowerStrategy", "python.md", [0.85, 0.85]),
        ("def clipped", "strategies.md", [0.85]),
        ("def power_of_choice", "strategies.md", [0.85]),
    ],
)
def test_strategies_of_ones_own(monkeypatch, capsys, words, name, least):
    if "Flower" in words:
        pytest.importorskip("flwr", reason="Flower is not installed: `cargo xtask test --only python` installs it")
    monkeypatch.setenv("FOLKMOOT_PROGRAM", PROGRAM)
    exec(program(words, name), {"folkmoot": folkmoot, "np": np})
    printed = [float(number) for number in capsys.readouterr().out.split()]
    assert len(printed) == len(least) and all(one >= other for one, other in zip(printed, least)), printed


def test_a_comparison(monkeypatch, capsys):
    monkeypatch.setenv("FOLKMOOT_PROGRAM", PROGRAM)
    exec(program("folkmoot.compare"), {"folkmoot": folkmoot})
    lines = capsys.readouterr().out.splitlines()
    assert [line.rsplit(" ", 1)[0] for line in lines] == ["digits", "uniform mean", "two epochs"]


def test_a_key_in_the_systems_store(coordinator, tmp_path, monkeypatch):
    keyring = pytest.importorskip("keyring", reason="the package keyring is not installed")
    kept = {}
    monkeypatch.setattr(keyring, "get_password", lambda *place: kept.get(place))
    monkeypatch.setattr(keyring, "set_password", lambda service, name, text: kept.update({(service, name): text}))
    monkeypatch.chdir(tmp_path)
    scope = {"folkmoot": folkmoot, "url": coordinator.url, "token": "token", "ca": coordinator.certificate}
    exec(program("KeyringSecrets"), scope)
    scope["client"].close()
    assert list(kept) == [("folkmoot", "silo-1")]
    assert os.listdir(tmp_path / "state")


def test_clients_with_limits_and_of_flower(coordinator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"folkmoot": folkmoot, "url": coordinator.url, "token": "token", "ca": coordinator.certificate}
    exec(program("import Client, DeviceConditions"), scope)
    scope["client"].close()
    flower = pytest.importorskip("flwr.client", reason="Flower is not installed")
    exec(program("import FlowerTrainer"), scope | {"MyNumPyClient": flower.NumPyClient})
