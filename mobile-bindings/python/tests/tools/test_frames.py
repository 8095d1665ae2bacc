"""Results as data frames: tidy, with documented columns and units, also where rows are missing."""

import contextlib
import io
import sys
from pathlib import Path

import folkmoot
import pytest
from folkmoot._notebook import columns, frames
from folkmoot.admin import History
from folkmoot.simulated import SimulatedRound
from small_task import PROGRAM

REPOSITORY = Path(__file__).parents[4]
DIGITS = REPOSITORY / "examples" / "digits"
TABLES = {
    "rounds": columns.ROUNDS,
    "contributions": columns.CONTRIBUTIONS,
    "versions": columns.VERSIONS,
    "figures": {name: columns.Column("", unit, about) for name, (unit, about) in columns.MEASURES.items()},
}


@pytest.fixture(autouse=True)
def pandas():
    """The package. The environment with PyTorch collects this file, too, and does not have it."""
    return pytest.importorskip("pandas", reason="pandas is not installed: `cargo xtask test --only python` installs it")


def row(**given):
    return {name: given.get(name) for name in columns.ROUNDS}


@pytest.fixture(scope="module")
def compared():
    task, model, data = (DIGITS / name for name in ("task.toml", "model.onnx", "digits.csv"))
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        made = folkmoot.compare(
            task, model, data, ["fed_adam"], seeds=2, clients=10, hours=0.1, progress=True, program=PROGRAM
        )
    assert "comparing [########################] 4/4 runs" in said.getvalue()
    return made


def test_the_columns_are_those_of_a_round():
    assert list(columns.ROUNDS) == list(SimulatedRound.__annotations__)


@pytest.mark.parametrize("name", TABLES)
def test_the_guide_lists_every_column_with_its_unit(name):
    guide = (REPOSITORY / "docs" / "guides" / "notebooks.md").read_text()
    rows = "\n".join(f"| `{column}` | {unit or '–'} | {about} |" for column, (_, unit, about) in TABLES[name].items())
    assert f"| column | unit | meaning |\n|---|---|---|\n{rows}\n" in guide


def test_a_simulation_is_a_tidy_frame_with_contributions(tmp_path):
    task = tmp_path / "task.toml"
    described = (DIGITS / "task.toml").read_text().replace("rounds = 10", "rounds = 2")
    task.write_text(described.replace("report_goal = 1", "report_goal = 5"))
    done = folkmoot.simulate(
        task, DIGITS / "model.onnx", DIGITS / "digits.csv", clients=5, contributions=True, program=PROGRAM
    )
    frame = done.to_pandas()
    assert list(frame.columns) == list(columns.ROUNDS) and len(frame) == len(done.rounds) == 2
    assert frame.attrs["units"]["bytes_up"] == "bytes"
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        name: column.kind for name, column in columns.ROUNDS.items()
    }
    assert frame["held_out_metric"].tolist() == [one["held_out_metric"] for one in done.rounds]
    valued = done.to_pandas("contributions")
    assert sorted(valued["client"]) == [0, 1, 2, 3, 4] and valued["rounds"].max() == 2
    assert valued["shapley"].sum() == pytest.approx(done.summary["contributions"]["gain"], abs=1e-6)


def test_a_comparison_has_rounds_variants_and_seeds(compared, pandas):
    rounds, variants, seeds = (compared.to_pandas(table) for table in ("rounds", "variants", "seeds"))
    assert list(rounds.columns) == list(columns.COMPARED_ROUNDS) and len(rounds) == len(compared.rounds)
    assert variants["variant"].tolist() == ["digits", "fed_adam"]
    assert list(variants.columns) == list(columns.VARIANTS)
    assert pandas.isna(variants["difference"][0]) and variants["final_metric_half_width"][1] > 0
    assert seeds[["variant", "seed"]].values.tolist() == [
        ["digits", 1],
        ["digits", 2],
        ["fed_adam", 1],
        ["fed_adam", 2],
    ]
    means = seeds.groupby("variant")["final_metric"].mean()
    assert means.tolist() == pytest.approx(variants["final_metric"].tolist())


def test_missing_values_and_rows_are_not_zeros(pandas):
    empty = folkmoot.Simulated([], {}, None).to_pandas()
    assert list(empty.columns) == list(columns.ROUNDS) and len(empty) == 0 and str(empty["version"].dtype) == "Int64"
    abandoned = row(round_number=1, outcome="abandoned", reason="too few", virtual_seconds=1.0, duration_seconds=1.0)
    counts = dict.fromkeys(("drawn", "reported", "dropped", "bytes_down", "bytes_up", "client_rounds"), 0)
    frame = folkmoot.Simulated([abandoned | counts], {}, None).to_pandas()
    assert frame["version"][0] is pandas.NA and pandas.isna(frame["held_out_metric"][0])
    history = History({"description": {"name": "a"}, "state": "draft"}, [], 1, None)
    assert list(history.to_pandas().columns) == list(columns.VERSIONS)


def test_errors_name_the_package_and_the_tables(compared, monkeypatch):
    with pytest.raises(folkmoot.BadOptionError, match="no table 'round'; the tables are rounds, variants, seeds"):
        compared.to_pandas("round")
    with pytest.raises(folkmoot.BadOptionError, match="contributions=True"):
        folkmoot.Simulated([], {}, None).to_pandas("contributions")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(folkmoot.BadOptionError, match="pip install pandas"):
        frames.frame([], columns.ROUNDS)
