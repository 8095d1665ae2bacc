"""Runs variants of a task in the same virtual worlds: `folkmoot simulate --compare`, for notebooks."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from ._buffers import ArrayLike
from .errors import BadOptionError
from .simulation import Source, _file, _options, _program, _run

Variants = Union[Iterable[str], Mapping[str, Mapping[str, Any]]]

_WORDS = ("variant", "outcome", "reason")
"""The columns that are texts."""


@dataclass(frozen=True)
class Compared:
    """The result of a comparison. `pandas.DataFrame(compared.rounds)` converts the rounds to a table."""

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
    program: Source | None = None,
) -> Compared:
    """Runs a task and variants of it over virtual clients, with the same data, devices and faults for each seed.

    `variants` are names and paths, such as `["fed_adam", "krum:0.2", "ditto", "mine.toml"]`, or a dictionary from names to the
    keys that a variant changes: `{"two epochs": {"plan": {"epochs": 2}}}`. `seeds` is the number of seeds, 3 by default,
    beginning with `seed`. `target` is a value of the held-out metric to reach. All other arguments are those of `simulate`.

    With `output` and `resume`, runs that are complete are not run again.

    Raises SimulationError, or BadOptionError if the program cannot be found or a name cannot be used.
    """
    found = _program(program)
    with tempfile.TemporaryDirectory(prefix="folkmoot-comparison-") as name:
        scratch = Path(name)
        folder = Path(output) if output is not None else scratch / "output"
        arguments = [found, "simulate", _file(task, scratch / "task.toml"), "--json"]
        arguments += _options(
            scratch,
            model=model,
            data=data,
            held_out=held_out,
            world=world,
            compare=",".join(_files(variants, scratch / "variants")),
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
        _run(arguments, scratch)
        summary = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
        with (folder / "comparison.csv").open(encoding="utf-8", newline="") as rounds:
            rows = [_row(row) for row in csv.DictReader(rounds)]
        report = (folder / "comparison.html").read_text(encoding="utf-8")
    return Compared(rows, summary.pop("variants"), summary, report, None if output is None else folder)


def _files(variants: Variants, folder: Path) -> list[str]:
    """Returns the variants as the program reads them. The name of a file is that of its variant."""
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
