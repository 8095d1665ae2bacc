"""Comparisons of a task's variants from Python, with the real program."""

from pathlib import Path

import folkmoot
import pytest
from folkmoot import simulation
from small_task import PROGRAM

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


def digits(variants, **options):
    task, model, data = (DIGITS / name for name in ("task.toml", "model.onnx", "digits.csv"))
    options = {"clients": 12, "seeds": 2, "hours": 0.5, "program": PROGRAM, **options}
    return folkmoot.compare(task, model, data, variants, **options)


def test_variants_by_name_are_compared_with_the_task(tmp_path, capsys):
    done = digits(["fed_adam", "ditto"], target=0.5, output=tmp_path / "out")
    assert [one["variant"] for one in done.variants] == ["digits", "fed_adam", "ditto"]
    assert done.summary["seeds"] == [1, 2] and done.summary["target"] == 0.5
    assert done.summary["baseline"] == "digits"
    columns = {"variant", "seed", *simulation.SimulatedRound.__annotations__}
    assert all(set(row) == columns for row in done.rounds)
    for one in done.variants:
        for seed, value in zip(done.summary["seeds"], one["final_metric"]["values"]):
            rows = [row for row in done.rounds if (row["variant"], row["seed"]) == (one["variant"], seed)]
            measured = [row["held_out_metric"] for row in rows if row["held_out_metric"] is not None]
            assert measured[-1] == pytest.approx(value), "the rows are those of the summary"
    assert done.report.startswith("<!DOCTYPE html>") or done.report.startswith("<!doctype html>")
    assert (done.output / "comparison.html").read_text() == done.report
    capsys.readouterr()
    again = digits(["fed_adam", "ditto"], target=0.5, output=tmp_path / "out", resume=True, progress=True)
    assert again.rounds == done.rounds
    assert capsys.readouterr().err.splitlines()[-1] == "comparing [########################] 6/6 runs"


def test_a_variant_may_be_the_keys_that_it_changes():
    variants = {"two epochs": {"plan": {"epochs": 2}}, "uniform mean": {"aggregator": {"kind": "uniform_mean"}}}
    done = digits(variants, seeds=1)
    assert [one["variant"] for one in done.variants] == ["digits", "two epochs", "uniform mean"]
    assert done.output is None


def test_errors_say_which_variant_is_wrong():
    with pytest.raises(folkmoot.SimulationError, match="fed_adm`(.|\n)*`fed_adam`"):
        digits(["fed_adm"])
    with pytest.raises(folkmoot.SimulationError, match="epoks"):
        digits({"typo": {"plan": {"epoks": 2}}})
    for variants, words in [
        ([], "no variants"),
        ("median", "give a list"),
        (["a,b"], "without commas"),
        ({"a/b": {"plan": {"epochs": 2}}}, "name of a file"),
    ]:
        with pytest.raises(folkmoot.BadOptionError, match=words):
            digits(variants)
