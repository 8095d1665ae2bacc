"""Every tutorial in docs/tutorials works word for word: its commands and programs run in the order of the page.

A block of `sh` is run, in the coordinator's terminal if it starts the coordinator, and otherwise in the reader's. Each
terminal has only the variables that its own blocks have set. A block whose first line is a comment with a file name is
written to that file, and a block of Python needs one. A block of `text` is output that the page promises: each of its lines
must have been printed by the block before it, and `…` stands for any words. `<!-- ctrl-c -->` stops the coordinator. Pages
with JavaScript run in the tests of the browser. README.md has the commands that make the folder of a tutorial.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_task import PROGRAM
from test_kills import Line

REPOSITORY = Path(__file__).parents[3]
TUTORIALS = REPOSITORY / "docs" / "tutorials"
PATIENCE_SECONDS = 120
PACKAGES = ("flwr", "onnx", "onnxruntime", "sklearn", "torch")
"""The packages of others that a tutorial may need, by the names that programs import."""

PIECE = re.compile(r"^```(\w+)\n(.*?)^```$|^(<!-- ctrl-c -->)$", re.DOTALL | re.MULTILINE)
SERVE = re.compile(r"\bfolkmoot serve\b")
RESULT = re.compile(r"folkmoot (?:task rounds|model download) (\S+)")
FILE_NAME = re.compile(r"^# ([\w-]+\.\w+)\n")


def pages():
    """Returns the tutorials by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TUTORIALS.glob("*.md"))}
    return {name: text for name, text in texts.items() if name != "README" and "```js\n" not in text}


class Reader:
    """Follows a page in the folder that README.md tells the reader to make, beside a clone with all programs built."""

    def __init__(self, folder):
        self.folder = folder / "clone"
        self.coordinator = None
        # The coordinator gets its port when it starts, and another one when it starts again.
        self.line = Line(0)
        self.known = {"127.0.0.1:8443": self.line.url.removeprefix("https://")}
        self.printed = []
        self.build()
        # The terminals know nothing of the caller's settings and programs. Without a buffer, lines of programs that run at
        # the same time would mix.
        foreign = ("FOLKMOOT_", "PYTHONUNBUFFERED")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        paths = [path for path in os.environ["PATH"].split(os.pathsep) if not Path(path, "folkmoot").exists()]
        self.terminal = {**variables, "PATH": os.pathsep.join(paths)}
        self.coordinator_terminal = dict(self.terminal)
        [made] = re.findall(r"^```sh\n(.*?)^```$", (TUTORIALS / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        self.run(self.terminal, made)
        self.folder = folder / "tutorial"

    def build(self):
        """Makes the clone. It uses the Python environment of the tests."""
        for place in ("target/release", "venv/bin"):
            (self.folder / place).mkdir(parents=True)
        (self.folder / "examples").symlink_to(REPOSITORY / "examples")
        (self.folder / "target/release/folkmoot").symlink_to(Path(PROGRAM).resolve())
        interpreters = Path(sys.executable).parent
        (self.folder / "venv/bin/activate").write_text(f"export PATH='{interpreters}':$PATH\n", encoding="utf-8")

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
            else:
                assert language != "python", f"the page does not say in which file to save:\n{block}"
        return "".join(self.printed)

    def filled(self, text):
        """Replaces the placeholders of the page by the values of this run."""
        for printed, value in self.known.items():
            text = text.replace(printed, value)
        return text

    def commands(self, block):
        """Runs a block of commands and returns what they printed."""
        terminal = self.coordinator_terminal if SERVE.search(block) else self.terminal
        said = ""
        for line in block.replace("\\\n", " ").splitlines():
            command = self.filled(line)
            if SERVE.search(command):
                said += self.serve(command)
            elif command.startswith(("export ", ". ")):
                variables = self.run(terminal, f"{command}; env -0", is_shown=False)
                terminal.update(variable.split("=", 1) for variable in variables.split("\0") if variable)
            else:
                said += self.command(terminal, command)
        return said

    def command(self, terminal, command):
        """Runs a command and remembers the identifiers that it prints."""
        if result := RESULT.match(command):
            self.settle(result[1])
        said = self.run(terminal, command)
        if command.startswith("folkmoot token create"):
            for option in ("--token ", "enrolment_token="):
                quote = '"' if option.endswith("=") else ""
                self.known[f"{option}{quote}…{quote}"] = f"{option}{quote}{said.split()[0]}{quote}"
        return said

    def settle(self, task):
        """Waits until the newest round has used the updates of clients that have ended: a test is faster than a reader."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        newest = f"folkmoot task rounds {task} --limit 1 --json"
        while re.search(r'"(reporting|aggregating)"', self.run(self.terminal, newest, is_shown=False)):
            assert time.monotonic() < deadline, f"{task} has a round that does not end"

    def run(self, terminal, command, is_shown=True):
        """Runs a command, and ends everything that it has left running."""
        process = self.start(terminal, command, stderr=subprocess.PIPE)
        try:
            said, complaint = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            kill(process)
        assert process.returncode == 0, f"{command}\n{said}\n{complaint}"
        if is_shown:
            self.printed.append(said)
        return said

    def start(self, terminal, command, stderr):
        """Starts a command as the leader of a group of processes."""
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=terminal,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def serve(self, command):
        """Starts the coordinator, and reads its output up to its address and, in a new data folder, its first key."""
        self.stop()
        terminal = {**self.coordinator_terminal, "FOLKMOOT_SERVER_LISTEN": "127.0.0.1:0"}
        with (self.folder / "coordinator.log").open("ab") as log:
            self.coordinator = self.start(terminal, f"exec {command}", stderr=log)
        patience = threading.Timer(PATIENCE_SECONDS, kill, [self.coordinator])
        patience.start()
        said = ""
        try:
            for line in self.coordinator.stdout:
                said += line
                if address := re.search(r"https?://127.0.0.1:(\d+)", line):
                    self.line.port = int(address[1])
                if key := re.match(r"first API key +(\S+)", line):
                    self.known["FOLKMOOT_API_KEY=…"] = f"FOLKMOOT_API_KEY={key[1]}"
                if key or (address and self.known.get("FOLKMOOT_API_KEY=…")):
                    return said
        finally:
            patience.cancel()
        raise AssertionError(f"`{command}` ended:\n{said}{(self.folder / 'coordinator.log').read_text()}")

    def close(self):
        """Ends everything that the page has started."""
        self.stop()
        self.line.close()

    def stop(self):
        if self.coordinator:
            self.coordinator.terminate()
            try:
                self.coordinator.communicate(timeout=PATIENCE_SECONDS)
            finally:
                kill(self.coordinator)
                self.coordinator = None


def kill(process):
    """Kills what is left of a process's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
        reader.close()
    print(f"{name}: {time.monotonic() - started:.1f} s")
    check_accuracy(printed)


def check_accuracy(printed):
    """A program on the page and `folkmoot eval` report the same accuracy."""
    evaluated = re.findall(r"^accuracy {2,}([0-9.]+) %$", printed, re.MULTILINE)
    programs = re.findall(r"^accuracy ([0-9.]+) %$", printed, re.MULTILINE)
    if programs:
        assert evaluated and programs[-1] == evaluated[-1]
    assert all(float(accuracy) > 75.0 for accuracy in evaluated)


def test_a_promise_that_is_not_kept_is_found():
    expect("held-out … %\n\nb", "a\nheld-out 92.3 %\nb\n")
    with pytest.raises(AssertionError, match="promises `c`"):
        expect("c", "a\nb\n")
