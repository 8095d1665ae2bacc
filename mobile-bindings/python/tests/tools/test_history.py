"""The history of a task on a coordinator, and waiting for its end with a progress bar."""

import threading

import numpy as np
import pytest
from folkmoot.admin import History
from small_task import linear_model, task_text
from test_simulation import digits

EVALUATION = """
[evaluation]
central = true
metric = "loss"
"""


@pytest.fixture
def task(coordinator, tmp_path):
    tomllib = pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    x = [[1.0, 0.0], [0.0, 1.0]]
    model = linear_model(tmp_path / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))
    described = tomllib.loads(task_text("lines", report_goal=1, rounds=3, settings=EVALUATION))
    data = coordinator.admin.create_evaluation_data(x, [1.0, 2.0])
    return coordinator.admin.create_task(described, model, evaluation_data=data, activate=True)["id"]


def test_a_wait_shows_the_rounds_and_ends_with_the_task(coordinator, task, capsys):
    admin, ended = coordinator.admin, []
    waiting = threading.Thread(target=lambda: ended.append(admin.wait(task, poll_seconds=0.05, progress=True)))
    waiting.start()
    with coordinator.client(task) as client:
        client.examples.add([[1.0, 0.0], [0.0, 1.0]] * 4, [1.0, 2.0] * 4)
        client.run(rounds=3)
        waiting.join(60)
    assert ended[0]["state"] == "completed"
    assert "training [########################] 3/3 rounds" in capsys.readouterr().err
    assert admin.wait(task, seconds_max=0)["rounds_committed"] == 3 and capsys.readouterr().err == ""
    history = admin.history(task)
    assert isinstance(history, History) and [row["version"] for row in history.versions] == [0, 1, 2, 3]
    losses = [row["central_metric"] for row in history.versions]
    assert losses == sorted(losses, reverse=True) and losses[0] == pytest.approx(2.5), "each version is better"
    assert history.versions[1]["clients"] == 1 and history.withheld is None
    assert "polyline" in history._repr_html_() and "Task lines" in history._repr_html_()
    pytest.importorskip("pandas", reason="pandas is not installed: `cargo xtask test --only python` installs it")
    assert history.to_pandas()["central_metric"].tolist() == pytest.approx(losses)


def test_a_simulation_shows_its_rounds(capsys):
    digits(clients=5, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("simulating [########################] 10/10 rounds  held out 0.")
    digits(clients=5)
    digits(clients=5, progress=False)
    assert capsys.readouterr().err == "", "a log has no bar unless it is wanted"
