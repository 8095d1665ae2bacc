"""The TOML of the guides: every part of a task belongs to a valid task, and every world can be simulated."""

import re
import subprocess

import folkmoot
import pytest
from folkmoot import _toml
from small_task import PROGRAM
from test_guide import DIGITS, REPOSITORY

tomllib = pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")

TASK = (DIGITS / "crowd-task.toml").read_text()
NEEDED = {
    "[mixing]": {"aggregator": {"kind": "trimmed_mean", "trim_share": 0.2}},
    "[bucketing]": {"aggregator": {"kind": "trimmed_mean", "trim_share": 0.1}},
    "fed_rep": {"plan": {"personal": ["head.*"]}},
    "[privacy]": {"aggregator": {"kind": "uniform_mean"}},
    "[protection.committee]": {"aggregator": {"kind": "weighted_mean"}},
}
"""The other settings that a part of a task needs, as the text around it says, by words of the part."""
WORLD = ("clients = ", "[contributions]")
"""The beginnings of worlds."""
NOT_OF_A_TASK = ("# The number of updates that a round needs.", "[[committee.members]]")
"""The beginnings of a template's comment and of a coordinator's settings."""


def parts(guide):
    """Returns the blocks of TOML of a guide, each with its line."""
    text = (REPOSITORY / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    blocks = re.finditer(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(f"{guide}.md:{text.count(chr(10), 0, block.start()) + 1}", block[1]) for block in blocks]


def is_of_a_world(block):
    return re.sub(r"^#.*\n", "", block).startswith(WORLD)


def merged(task, change):
    """Returns the task with the keys of the change. A choice of another kind replaces the one of the task."""
    for key, value in change.items():
        present = task.get(key)
        is_choice = key == "optimizer" or not isinstance(value, dict) or not isinstance(present, dict)
        if is_choice or value.get("kind", present.get("kind")) != present.get("kind"):
            task[key] = value
        else:
            merged(present, value)
    return task


@pytest.mark.parametrize("guide", ["tasks", "privacy", "secure-aggregation"])
def test_every_part_of_a_task_belongs_to_a_valid_task(guide, tmp_path):
    file, faults, checks = tmp_path / "task.toml", [], 0
    for place, block in parts(guide):
        if is_of_a_world(block) or block.startswith(NOT_OF_A_TASK):
            continue
        task = tomllib.loads(TASK)
        for words, needed in NEEDED.items():
            merged(task, needed if words in block else {})
        file.write_text(_toml.text(merged(task, tomllib.loads(block))), encoding="utf-8")
        checked = subprocess.run([PROGRAM, "task", "check", file], capture_output=True, text=True, check=False)
        checks += 1
        if checked.returncode != 0:
            faults.append(f"{place}\n{block}\n{checked.stderr}")
    assert checks > 0 and not faults, "\n".join(faults)


@pytest.mark.parametrize(("place", "block"), [part for part in parts("simulation") if is_of_a_world(part[1])])
def test_every_world_can_be_simulated(place, block, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_PROGRAM", PROGRAM)
    task, world = tomllib.loads((DIGITS / "task.toml").read_text()), {"clients": 20, **tomllib.loads(block)}
    task["scheduling"]["report_goal"], task["stop"]["rounds"] = 5, 2
    done = folkmoot.simulate(task, DIGITS / "model.onnx", DIGITS / "digits.csv", world=world)
    assert done.summary["committed"] == 2, place
