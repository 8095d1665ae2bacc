"""Runs variants of a task in the same virtual worlds: `folkmoot simulate --compare`, for notebooks."""

from __future__ import annotations

import contextlib
import csv
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from . import _program
from ._buffers import ArrayLike
from ._notebook import columns, frames, html
from ._notebook.bar import Bar
from ._program import Source
from .errors import BadOptionError
from .simulation import PURPOSE, _file, _options, _run

Variants = Union[Iterable[str], Mapping[str, Mapping[str, Any]]]

_WORDS = ("variant", "outcome", "reason")
"""The columns that are texts."""


SEEDS = 3
"""The number of seeds with which each variant runs, if none is given."""


@dataclass(frozen=True, repr=False)
class Compared:
    """The result of a comparison. A notebook shows it as a table with a curve for each variant."""

    rounds: list[dict[str, Any]]
    """One row for each variant, seed and round: `variant`, `seed`, and the columns of a `SimulatedRound`."""
    variants: list[dict[str, Any]]
    """The summary of each variant: `variant`, `final_metric`, `difference`, `rounds_to_target`, … A figure has its `mean`, the
    `values` of each seed, and the half width of its interval."""
    summary: dict[str, Any]
    """The rest of `comparison.json`: `metric`, `target`, `seeds`, `baseline`, …"""
    report: str
    """The report, an HTML page. A notebook shows it with `IPython.display.HTML`."""
    output: Path | None
    """The folder with `comparison.html` and the results of each run, if you passed one."""

    def to_pandas(self, table: str = "rounds") -> frames.DataFrame:
        """Returns a data frame of pandas: the `rounds` of all runs, one row each; the `variants`, one row each, with means and
        intervals; or the `seeds`, one row for each variant and seed, with the same figures.

        docs/guides/notebooks.md lists the columns, and `frame.attrs["units"]` has their units.

        Raises BadOptionError if pandas is not installed.
        """
        makers = {"rounds": self._rounds_frame, "variants": self._variants_frame, "seeds": self._seeds_frame}
        made: frames.DataFrame = frames.chosen(table, makers)()
        return made

    def _rounds_frame(self) -> frames.DataFrame:
        return frames.frame(self.rounds, columns.COMPARED_ROUNDS)

    def _variants_frame(self) -> frames.DataFrame:
        rows = []
        for variant in self.variants:
            row = {name: variant[name] for name in ("variant", "is_pareto_optimal", "paused_seeds")}
            for name in columns.MEASURES:
                measure = variant[name] or {}
                row |= {name: measure.get("mean"), f"{name}_half_width": measure.get("half_width")}
            rows.append(row)
        return frames.frame(rows, columns.VARIANTS)

    def _seeds_frame(self) -> frames.DataFrame:
        rows = []
        for variant in self.variants:
            for place, seed in enumerate(self.summary["seeds"]):
                values = {name: variant[name]["values"][place] for name in columns.MEASURES if variant[name]}
                rows.append({"variant": variant["variant"], "seed": seed, **values})
        return frames.frame(rows, columns.SEEDS)

    def __repr__(self) -> str:
        finals = ", ".join(f"{one['variant']} {_spread(one['final_metric'])}" for one in self.variants)
        return f"<{type(self).__name__}: {self.summary['metric']} with {len(self.summary['seeds'])} seeds: {finals}>"

    def _repr_html_(self) -> str:
        metric = self.summary["metric"]
        header = ("variant", metric, "difference", "rounds to target", "committed")
        figures = ("final_metric", "difference", "rounds_to_target", "committed")
        table = html.table(
            header, self.variants, lambda one: [one["variant"], *(_spread(one[figure]) for figure in figures)]
        )
        title = f"Comparison over {len(self.summary['seeds'])} seeds"
        return html.section(title, html.chart(self._curves(), f"{metric} by round"), table)

    def _curves(self) -> dict[str, list[html.Point]]:
        """Returns the mean of the metric over the seeds by round, for each variant. A round that not every run has is left out."""
        seeds = len(self.summary["seeds"])
        values: dict[str, dict[int, list[float]]] = {one["variant"]: {} for one in self.variants}
        for row in self.rounds:
            if row["held_out_metric"] is not None:
                values[row["variant"]].setdefault(row["round_number"], []).append(row["held_out_metric"])
        return {
            variant: [(number, sum(found) / seeds) for number, found in sorted(rounds.items()) if len(found) == seeds]
            for variant, rounds in values.items()
        }


def _spread(measure: Mapping[str, Any] | None) -> str:
    """Formats a mean with half of its interval."""
    if measure is None or measure["mean"] is None:
        return html.number(None)
    half = measure["half_width"]
    return html.number(measure["mean"]) + ("" if half is None else f" ± {half:.2g}")


def compare(
    task: Source | Mapping[str, Any],
    model: Source,
    data: Source | tuple[ArrayLike, ArrayLike] | None = None,
    variants: Variants = (),
    *,
    seeds: int | None = None,
    target: float | None = None,
    held_out: Source | tuple[ArrayLike, ArrayLike] | None = None,
    clients: int | None = None,
    partition: str | None = None,
    seed: int | None = None,
    hours: float | None = None,
    world: Source | Mapping[str, Any] | None = None,
    threads: int | None = None,
    evaluate_every: int = 1,
    label_column: str | None = None,
    group_column: str | None = None,
    flat: bool = False,
    output: Source | None = None,
    resume: bool = False,
    progress: bool | None = None,
    program: Source | None = None,
) -> Compared:
    """Runs a task and variants of it over virtual clients, with the same data, devices and faults for each seed.

    `variants` are names and paths, such as `["fed_adam", "krum:0.2", "ditto", "mine.toml"]`, or a dictionary from names to the
    keys that a variant changes: `{"two epochs": {"plan": {"epochs": 2}}}`. `seeds` is the number of seeds, 3 by default,
    beginning with `seed`. `target` is a value of the held-out metric to reach. All other arguments are as in `simulate`.

    With `output` and `resume`, runs that are complete are not run again. `progress` shows a progress bar over the runs, or none;
    by default, a terminal has one, and with tqdm a notebook.

    Raises SimulationError, or BadOptionError if the program cannot be found or a name cannot be used.
    """
    found = _program.find(program, PURPOSE)
    with tempfile.TemporaryDirectory(prefix="folkmoot-comparison-") as name:
        scratch = Path(name)
        folder = Path(output) if output is not None else scratch / "output"
        named = _files(variants, scratch / "variants")
        arguments = [found, "simulate", _file(task, scratch / "task.toml"), "--json"]
        arguments += _options(
            scratch,
            model=model,
            data=data,
            held_out=held_out,
            world=world,
            compare=",".join(named),
            seeds=seeds,
            target=target,
            clients=clients,
            partition=partition,
            seed=seed,
            hours=hours,
            threads=threads,
            evaluate_every=evaluate_every,
            label_column=label_column,
            group_column=group_column,
            flat=flat,
            resume=resume,
            output=folder,
        )
        # The task itself is a variant, too. Variants that equal another one are left out, which only the program knows.
        total = (len(named) + 1) * (SEEDS if seeds is None else seeds)
        with Bar(progress, "comparing", total, "runs") as bar:
            _run(arguments, scratch, _Ended(folder, bar).look)
            summary = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
            # Runs that `resume` kept count, too.
            bar.finish(len(summary["variants"]) * len(summary["seeds"]))
        with (folder / "comparison.csv").open(encoding="utf-8", newline="") as rounds:
            rows = [_row(row) for row in csv.DictReader(rounds)]
        report = (folder / "comparison.html").read_text(encoding="utf-8")
    return Compared(rows, summary.pop("variants"), summary, report, None if output is None else folder)


class _Ended:
    """Counts the runs that have ended: each has then written its file."""

    def __init__(self, folder: Path, bar: Bar) -> None:
        self._folder, self._bar = folder, bar
        self._before = self._files()

    def look(self) -> None:
        """Shows the number of runs that have ended since the beginning."""
        ended = self._files()
        # A file that was there before is written again, unless the run is resumed.
        self._bar.show(sum(self._before.get(path) != time for path, time in ended.items()))

    def _files(self) -> dict[Path, int]:
        files = {}
        for path in self._folder.glob("*/seed-*/run.json"):
            # The program deletes the file of an earlier run.
            with contextlib.suppress(FileNotFoundError):
                files[path] = path.stat().st_mtime_ns
        return files


def _files(variants: Variants, folder: Path) -> list[str]:
    """Returns the variants as the program reads them. A file is named after its variant."""
    if isinstance(variants, str):
        raise BadOptionError(f"variants is the text {variants!r}; give a list of names, such as [{variants!r}]")
    names = list(variants)
    for name in names:
        if not isinstance(name, str) or not name or any(letter in name for letter in ",\n"):
            raise BadOptionError(f"the variant {name!r} is not a text without commas")
    if not names:
        raise BadOptionError("there are no variants; give some, such as ['fed_adam', 'median']")
    if not isinstance(variants, Mapping):
        return names
    folder.mkdir()
    for name in names:
        if any(letter in name for letter in '/\\:*?"<>|') or name.startswith("."):
            raise BadOptionError(f"the variant {name!r} cannot be the name of a file")
    return [_file(variants[name], folder / f"{name}.toml") for name in names]


def _row(row: dict[str, str]) -> dict[str, Any]:
    return {name: _cell(name, text) for name, text in row.items()}


def _cell(name: str, text: str) -> Any:
    if name in _WORDS:
        return text or None
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)
