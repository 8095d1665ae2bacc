"""Simulations from Python, with the real program."""

import os
import stat
import threading
from pathlib import Path

import folkmoot
import numpy as np
import pytest
from folkmoot import _toml, simulation
from small_task import PROGRAM, linear_model, task_text

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


def digits(**options):
    return folkmoot.simulate(
        DIGITS / "task.toml", DIGITS / "model.onnx", DIGITS / "digits.csv", program=PROGRAM, **options
    )


def test_a_simulation_gives_a_row_for_each_round(tmp_path):
    told = []
    done = digits(clients=20, partition="dirichlet:0.5", seed=7, output=tmp_path / "out", progress=told.append)
    assert [row["round_number"] for row in done.rounds] == list(range(1, 11))
    assert told == done.rounds
    assert all(set(row) == set(simulation.SimulatedRound.__annotations__) for row in done.rounds)
    assert done.rounds[-1]["held_out_metric"] == done.summary["held_out_metric"] > done.rounds[0]["held_out_metric"]
    assert done.output == tmp_path / "out"
    assert {"model.onnx", "report.html", "world.toml"} <= {path.name for path in done.output.iterdir()}
    again = digits(clients=20, partition="dirichlet:0.5", seed=7, threads=1)
    assert again.rounds == done.rounds and again.output is None, "the same seed gives the same rounds"
    assert digits(clients=20, partition="dirichlet:0.5", seed=8).rounds != done.rounds
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; rows are plain dictionaries")
    assert pandas.DataFrame(done.rounds)["version"].tolist() == list(range(1, 11))


def test_a_task_a_world_and_examples_from_python(tmp_path, generator):
    tomllib = pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    task = tomllib.loads(task_text("lines", report_goal=4, rounds=20))
    x = generator.normal(size=(200, 2)).astype(np.float32)
    y = x @ np.array([1.0, -2.0]) + 0.5
    model = linear_model(tmp_path / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))
    world = {"clients": 10, "devices": {"dropout": {"vanish_probability": 0.2}}, "partition": {"kind": "iid"}}
    done = folkmoot.simulate(
        task, model, (x, y[:, None]), held_out=(x[:50], y[:50, None]), world=world, program=PROGRAM
    )
    losses = [row["held_out_loss"] for row in done.rounds if row["version"]]
    assert losses[-1] < 0.05 * losses[0]
    assert sum(row["dropped"] for row in done.rounds) > 0, "the world is the one that was given"


@pytest.mark.skipif(os.name == "nt", reason="the program that stands in is a shell's")
def test_rounds_are_told_while_it_runs(tmp_path):
    # A file that grows like the program's own, at known moments.
    program = tmp_path / "folkmoot"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    program.write_text(
        f"""#!/bin/sh
for argument; do case $argument in --output=*) folder="${{argument#--output=}}";; esac; done
mkdir -p "$folder"
printf '{{"round_number": 1}}\\n{{"round_nu' > "$folder/rounds.jsonl"
read -r _ < {gate}
printf 'mber": 2}}\\n' >> "$folder/rounds.jsonl"
echo '{{}}'
"""
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    told, first = [], threading.Event()

    def hear(row):
        told.append(row["round_number"])
        first.set()

    def run():
        folkmoot.simulate("task.toml", "model.onnx", program=program, progress=hear)

    thread = threading.Thread(target=run)
    thread.start()
    assert first.wait(30) and told == [1]
    gate.write_text("on\n")
    thread.join(30)
    assert told == [1, 2]


def test_what_interrupts_it_ends_the_program(tmp_path, monkeypatch):
    started = []
    popen = simulation.subprocess.Popen
    monkeypatch.setattr(
        simulation.subprocess, "Popen", lambda *given, **more: started.append(popen(*given, **more)) or started[0]
    )

    def stop(row):
        raise KeyboardInterrupt

    task = tmp_path / "task.toml"
    task.write_text((DIGITS / "task.toml").read_text().replace("rounds = 10", "rounds = 100000"))
    with pytest.raises(KeyboardInterrupt):
        data = DIGITS / "digits.csv"
        folkmoot.simulate(task, DIGITS / "model.onnx", data, clients=50, program=PROGRAM, progress=stop)
    assert started[0].poll() is not None


def test_errors_say_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(folkmoot.SimulationError, match="nowhere.*cannot be read"):
        folkmoot.simulate(DIGITS / "task.toml", tmp_path / "nowhere.onnx", DIGITS / "digits.csv", program=PROGRAM)
    with pytest.raises(folkmoot.SimulationError, match="partition"):
        digits(partition="any")
    with pytest.raises(folkmoot.SimulationError, match="report_gaol"):
        task = {"name": "a", "population": "a", "scheduling": {"kind": "synchronous", "report_gaol": 1}}
        folkmoot.simulate(task, DIGITS / "model.onnx", DIGITS / "digits.csv", program=PROGRAM)
    monkeypatch.delenv("FOLKMOOT_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(folkmoot.BadOptionError, match="find the program `folkmoot`.*cargo build.*FOLKMOOT_PROGRAM"):
        folkmoot.simulate("task.toml", "model.onnx")
    monkeypatch.setenv("FOLKMOOT_PROGRAM", str(tmp_path / "absent"))
    with pytest.raises(folkmoot.BadOptionError, match="absent"):
        folkmoot.simulate("task.toml", "model.onnx")


def test_toml_comes_back_as_it_was():
    tomllib = pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    settings = {
        "words": 'a "b" \\ \n\t\x7f\x01 ü 🎈',
        "a key.with dots": {"deeper": [1, 2.5, 1e-300, True], "none": None, "empty": {}},
        "far": float("inf"),
        "large": 2**62,
    }
    expected = {**settings, "a key.with dots": {"deeper": [1, 2.5, 1e-300, True], "empty": {}}}
    assert tomllib.loads(_toml.text({**settings, "number": np.float32(0.5), "left_out": None})) == {
        **expected,
        "number": 0.5,
    }
    with pytest.raises(folkmoot.BadOptionError, match="inner.task is a object"):
        _toml.text({"inner": {"task": object()}})
