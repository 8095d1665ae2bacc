"""The tutorials work word for word: their commands and their Python programs run in the order of the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_task import PROGRAM

REPOSITORY = Path(__file__).parents[3]
GUIDES = REPOSITORY / "docs" / "guides"
PATIENCE_SECONDS = 120


def blocks(page):
    """Returns the blocks of commands and of Python, with their language."""
    return re.findall(r"^```(sh|python)\n(.*?)^```$", (GUIDES / page).read_text(), re.DOTALL | re.MULTILINE)


class Reader:
    """Follows a page in a folder that looks like a clone, with a coordinator that runs already."""

    def __init__(self, coordinator, folder):
        self.folder = folder
        self.environment = dict(coordinator.environment)
        (folder / "examples").symlink_to(REPOSITORY / "examples")
        release = folder / "target" / "release"
        release.mkdir(parents=True)
        (release / "folkmoot").symlink_to(Path(PROGRAM).resolve())
        self.environment["PATH"] = f"{release}{os.pathsep}{os.environ['PATH']}"
        self.known = {}

    def run(self, command):
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def commands(self, block):
        """Runs a block of commands and returns what they printed."""
        printed = []
        for command in block.replace("\\\n", " ").splitlines():
            # The coordinator of the test stands in for the tutorial's.
            if command.startswith("export ") or " serve " in command:
                continue
            for name, value in self.known.items():
                command = command.replace(name, value)
            said = self.run(["bash", "-euo", "pipefail", "-c", command])
            if command.startswith("folkmoot task create"):
                self.known[" TASK "] = f" {re.search('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', said)[0]} "
            elif command.startswith("folkmoot token create"):
                self.known["--token …"] = f"--token {said.split()[0]}"
            printed.append(said)
        return "".join(printed)

    def follow(self, page):
        """Follows the page, and returns the output of all commands and that of the last program."""
        printed, program = [], ""
        for language, block in blocks(page):
            if language == "sh":
                printed.append(self.commands(block))
            else:
                program = self.run([sys.executable, "-c", block])
        return "".join(printed), program


def compare(printed, program):
    """Compares the accuracy that `eval` printed with that of ONNX Runtime, and with the most frequent class."""
    evaluated = re.search(r"^accuracy +([0-9.]+) %$", printed, re.MULTILINE)[1]
    assert re.search(r"^accuracy ([0-9.]+) %$", program, re.MULTILINE)[1] == evaluated
    assert float(evaluated) > 75.0


@pytest.mark.skipif(os.name == "nt", reason="the tutorials are for a POSIX shell")
def test_the_tutorial_about_tables(coordinator, tmp_path):
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    printed, program = Reader(coordinator, tmp_path).follow("tutorial-table.md")
    compare(printed, program)
    assert program.startswith("first visit: ")


@pytest.mark.skipif(os.name == "nt", reason="the tutorials are for a POSIX shell")
def test_the_tutorial_about_torch(coordinator, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    printed, program = Reader(coordinator, tmp_path).follow("tutorial-torch.md")
    compare(printed, program)
    assert "largest difference below 1e-5: True" in program
