"""Progress bars: where they are shown, and what they say."""

import io
import sys
import types

import pytest
from folkmoot import simulation
from folkmoot._notebook import bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Counting:
    """Stands in for tqdm, which tests do not install."""

    made = []

    def __init__(self, desc, total, unit):
        self.title, self.total, self.unit, self.n, self.words, self.is_closed = desc, total, unit, 0, "", False
        Counting.made.append(self)

    def set_postfix_str(self, words, refresh):
        self.words = words

    def update(self, more):
        self.n += more

    def refresh(self):
        pass

    def close(self):
        self.is_closed = True


@pytest.fixture(autouse=True)
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def shown(monkeypatch, stream, wanted, *, total=4):
    monkeypatch.setattr(sys, "stderr", stream)
    with bar.Bar(wanted, "simulating", total, "rounds") as progress:
        progress.show(1, "held out 0.1234567")
        progress.show(1, "held out 0.1234567")
        progress.show(4, "held out 0.9")
    progress.close()
    return stream.getvalue()


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch):
    written = shown(monkeypatch, Terminal(), None)
    first, second, end = written.split("\r")
    assert first == "simulating [######..................] 1/4 rounds  held out 0.1234567"
    assert second.rstrip() == "simulating [########################] 4/4 rounds  held out 0.9"
    assert len(second) == len(first) and end == "\n", "the second line covers the first"


def test_a_log_has_none_unless_it_is_wanted(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), None) == ""
    assert shown(monkeypatch, Terminal(), False) == ""
    assert shown(monkeypatch, io.StringIO(), True, total=None) == (
        "simulating 1 rounds  held out 0.1234567\nsimulating 4 rounds  held out 0.9\n"
    )


def test_the_end_may_correct_the_total(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with bar.Bar(True, "comparing", 4, "runs") as progress:
        progress.show(3)
        progress.finish(3)
    assert stream.getvalue().splitlines() == [
        "comparing [##################......] 3/4 runs",
        "comparing [########################] 3/3 runs",
    ]
    Counting.made.clear()
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Counting))
    with bar.Bar(True, "comparing", 4, "runs") as progress:
        progress.finish(3)
    assert [(made.n, made.total) for made in Counting.made] == [(3, 3)]


def test_a_total_is_found_only_for_a_bar_that_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    def find():
        raise AssertionError("nobody sees it")

    for wanted in (False, None):
        bar.Bar(wanted, "simulating", find, "rounds").show(1)
    with bar.Bar(True, "simulating", lambda: 2, "rounds") as progress:
        progress.show(1)
    assert sys.stderr.getvalue() == "simulating [############............] 1/2 rounds\n"


def test_the_bar_of_tqdm_is_used_if_it_is_installed(monkeypatch):
    Counting.made.clear()
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Counting))
    assert shown(monkeypatch, Terminal(), None) == ""
    [made] = Counting.made
    assert (made.title, made.total, made.unit, made.n, made.words) == ("simulating", 4, " rounds", 4, "held out 0.9")
    assert made.is_closed
    assert shown(monkeypatch, io.StringIO(), None) == "" and len(Counting.made) == 1, "a log has no bar of tqdm either"


def test_a_notebook_has_the_bar_of_tqdm(monkeypatch):
    Counting.made.clear()
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert shown(monkeypatch, io.StringIO(), None) == "", "without tqdm, a notebook shows nothing"
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Counting))
    shown(monkeypatch, io.StringIO(), None)
    assert [made.n for made in Counting.made] == [4]


def test_the_end_is_that_of_the_task(tmp_path):
    assert simulation._rounds_wanted({"stop": {"rounds": 7}}) == 7
    assert simulation._rounds_wanted({"stop": {"hours": 7}}) is None
    assert simulation._rounds_wanted(tmp_path / "nowhere.toml") is None
    pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    path = tmp_path / "task.toml"
    path.write_text("[stop]\nrounds = 5\n")
    assert simulation._rounds_wanted(path) == 5
    path.write_text("[stop")
    assert simulation._rounds_wanted(path) is None
