"""Every tutorial in docs/tutorials works word for word: its commands and programs run in the order of the page.

A block of `sh` is run. A block whose first line is a comment with a file name is written to that file; any other block of
Python is run. A block of `text` is output that the page promises: each of its lines must have been printed by the block
before it, and `…` stands for any words. `<!-- ctrl-c -->` stops the coordinator. Pages with JavaScript run in the tests of
the browser.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_task import PROGRAM

REPOSITORY = Path(__file__).parents[3]
TUTORIALS = REPOSITORY / "docs" / "tutorials"
PATIENCE_SECONDS = 120
PACKAGES = ("flwr", "onnx", "onnxruntime", "sklearn", "torch")
"""The packages of others that a tutorial may need, by the names that programs import."""

PIECE = re.compile(r"^```(\w+)\n(.*?)^```$|^(<!-- ctrl-c -->)$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"^# ([\w-]+\.\w+)\n")


def pages():
    """Returns the tutorials by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TUTORIALS.glob("*.md"))}
    return {name: text for name, text in texts.items() if "```sh\n" in text and "```js\n" not in text}


class Reader:
    """Follows a page in a folder that looks like a clone in which the program has been built."""

    def __init__(self, folder):
        self.folder = folder
        self.coordinator = None
        (folder / "examples").symlink_to(REPOSITORY / "examples")
        release = folder / "target" / "release"
        release.mkdir(parents=True)
        (release / "folkmoot").symlink_to(Path(PROGRAM).resolve())
        # The programs of the page use the interpreter of the tests.
        path = os.pathsep.join([str(release), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "FOLKMOOT_SERVER_LISTEN": "127.0.0.1:0"}
        self.known = {}
        self.printed = []

    def follow(self, text):
        """Follows the page, and returns everything that was printed."""
        last = ""
        for language, block, stop in PIECE.findall(text):
            block = self.filled(block)
            name = FILE_NAME.match(block)
            if stop:
                self.stop()
            elif language == "text":
                expect(block, last)
            elif language == "sh":
                last = self.commands(block)
            elif name:
                (self.folder / name[1]).write_text(block, encoding="utf-8")
            elif language == "python":
                last = self.run([sys.executable, "-c", block])
        return "".join(self.printed)

    def filled(self, text):
        """Replaces the placeholders of the page by the values of this run."""
        for printed, value in self.known.items():
            text = text.replace(printed, value)
        return text

    def commands(self, block):
        """Runs a block of commands and returns what they printed."""
        said = ""
        for line in block.replace("\\\n", " ").splitlines():
            command = self.filled(line)
            if re.search(r"\bfolkmoot serve\b", command):
                said += self.serve(command)
            elif command.startswith("export "):
                names = re.findall(r"(\w+)=", command)
                shown = " ".join(f'"${name}"' for name in names)
                values = self.run(["bash", "-euc", f"{command}; printf '%s\\n' {shown}"])
                self.environment.update(zip(names, values.splitlines(), strict=True))
            else:
                said += self.command(command)
        return said

    def command(self, command):
        """Runs a command and remembers the identifiers that it prints."""
        said = self.run(["bash", "-euo", "pipefail", "-c", command])
        if command.startswith("folkmoot token create"):
            for option in ("--token ", "enrolment_token="):
                quote = '"' if option.endswith("=") else ""
                self.known[f"{option}{quote}…{quote}"] = f"{option}{quote}{said.split()[0]}{quote}"
        return said

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
        self.printed.append(done.stdout)
        return done.stdout

    def serve(self, command):
        """Starts the coordinator, and reads its output up to its address and, in a new data folder, its first key."""
        self.stop()
        with (self.folder / "coordinator.log").open("ab") as log:
            self.coordinator = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        said = ""
        for line in self.coordinator.stdout:
            said += line
            if address := re.search(r"https?://(\S+:\d+)", line):
                self.known["127.0.0.1:8443"] = address[1]
                # Started again, it has the same address, as it has for readers.
                self.environment["FOLKMOOT_SERVER_LISTEN"] = address[1]
            if key := re.match(r"first API key +(\S+)", line):
                self.known["FOLKMOOT_API_KEY=…"] = f"FOLKMOOT_API_KEY={key[1]}"
            if key or (address and self.known.get("FOLKMOOT_API_KEY=…")):
                return said
        raise AssertionError(f"`{command}` ended:\n{said}{(self.folder / 'coordinator.log').read_text()}")

    def stop(self):
        if self.coordinator:
            self.coordinator.terminate()
            self.coordinator.communicate(timeout=PATIENCE_SECONDS)
            self.coordinator = None


def expect(promised, printed):
    """Compares the lines that a page shows with the lines that were printed."""
    lines = [line.strip() for line in printed.splitlines()]
    for line in filter(None, (line.strip() for line in promised.splitlines())):
        pattern = ".*".join(re.escape(part) for part in line.split("…"))
        assert any(re.fullmatch(pattern, other) for other in lines), f"the page promises `{line}`, but:\n{printed}"


def needed(text):
    """Returns the packages that the programs of a page import."""
    return [name for name in PACKAGES if re.search(rf"^\s*(?:import|from) {name}\b", text, re.MULTILINE)]


# The stage runs tests with `torch` in their name where PyTorch is: a tutorial that needs it has the word in its file's name.
@pytest.mark.skipif(os.name == "nt", reason="the tutorials are for a POSIX shell")
@pytest.mark.parametrize(("name", "text"), pages().items(), ids=pages())
def test_tutorial(name, text, tmp_path):
    for package in needed(text):
        pytest.importorskip(
            package, reason="PyTorch is not installed" if package == "torch" else f"{package} is missing"
        )
    assert name == "torch" or "torch" not in needed(text)
    reader = Reader(tmp_path)
    started = time.monotonic()
    try:
        printed = reader.follow(text)
    finally:
        reader.stop()
    print(f"{name}: {time.monotonic() - started:.1f} s")
    check_accuracy(printed)


def check_accuracy(printed):
    """The accuracy of a program on the page is that of `folkmoot eval`."""
    evaluated = re.findall(r"^accuracy {2,}([0-9.]+) %$", printed, re.MULTILINE)
    programs = re.findall(r"^accuracy ([0-9.]+) %$", printed, re.MULTILINE)
    assert not programs or not evaluated or programs[-1] == evaluated[-1]
    assert all(float(accuracy) > 75.0 for accuracy in evaluated)


def test_a_promise_that_is_not_kept_is_found():
    expect("held-out … %\n\nb", "a\nheld-out 92.3 %\nb\n")
    with pytest.raises(AssertionError, match="promises `c`"):
        expect("c", "a\nb\n")
