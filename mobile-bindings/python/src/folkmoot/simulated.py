"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from ._notebook import columns, frames, html
from .errors import BadOptionError


class SimulatedRound(TypedDict):
    """A round of a simulation. Seconds are virtual, from the start. `outcome` is `committed` or `abandoned`."""

    round_number: int
    version: int | None
    outcome: str
    reason: str | None
    virtual_seconds: float
    duration_seconds: float
    drawn: int
    reported: int
    dropped: int
    staleness_mean: float | None
    staleness_max: int | None
    bytes_down: int
    bytes_up: int
    client_rounds: int
    update_norm_median: float | None
    clipping_norm: float | None
    train_loss: float | None
    train_accuracy: float | None
    held_out_loss: float | None
    held_out_metric: float | None
    fine_tuned_loss: float | None
    fine_tuned_metric: float | None
    client_metric_mean: float | None
    client_metric_deviation: float | None
    client_metric_worst_tenth: float | None
    client_metric_best_tenth: float | None


@dataclass(frozen=True, repr=False)
class Simulated:
    """The result of a simulation. A notebook shows it as a table with a curve."""

    rounds: list[SimulatedRound]
    """One row per round, in order."""
    summary: dict[str, Any]
    """The summary, as `folkmoot simulate --json` prints it: `held_out_metric`, `virtual_seconds`, `bytes_up`, …"""
    output: Path | None
    """The folder with `model.onnx`, `report.html` and `world.toml`, if you passed one."""

    def to_pandas(self, table: str = "rounds") -> frames.DataFrame:
        """Returns a data frame of pandas: the `rounds`, one row each, or the `contributions`, one row for each client.

        docs/guides/notebooks.md lists the columns, and `frame.attrs["units"]` has their units.

        Raises BadOptionError if pandas is not installed, or if the simulation has not computed contributions.
        """
        listed = frames.chosen(table, {"rounds": columns.ROUNDS, "contributions": columns.CONTRIBUTIONS})
        if table == "rounds":
            return frames.frame(self.rounds, listed)
        found = self.summary.get("contributions")
        if found is None:
            raise BadOptionError("this simulation has computed no contributions; call simulate(…, contributions=True)")
        return frames.frame(found["clients"], listed)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {html.line(self._facts())}>"

    def _repr_html_(self) -> str:
        header = ("round", "version", "reported", "held-out loss", "held-out metric")
        cells = ("round_number", "version", "reported", "held_out_loss", "held_out_metric")
        curves = {"held-out metric": html.curve(self.rounds, "round_number", "held_out_metric")}
        return html.section(
            "Simulation",
            html.facts(self._facts()),
            html.chart(curves, "Held-out metric by round"),
            html.table(header, self.rounds, lambda row: [row[cell] for cell in cells]),
        )

    def _facts(self) -> dict[str, html.Figure]:
        summary = self.summary
        return {
            "rounds": len(self.rounds),
            "committed": summary.get("committed"),
            "held-out metric": summary.get("held_out_metric"),
            "virtual seconds": summary.get("virtual_seconds"),
            "sent to clients": html.size(summary.get("bytes_down")),
            "sent by clients": html.size(summary.get("bytes_up")),
        }
