"""The history of a task, version by version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._notebook import columns, frames, html
from . import looks, views


@dataclass(frozen=True, repr=False)
class History:
    """The history of a task, version by version. A notebook shows it as a table with a curve."""

    task: views.TaskView
    """The task, at the time of the request."""
    versions: list[dict[str, Any]]
    """One row per version, the oldest first, with the columns of `to_pandas`. A long history has every `stride`-th version."""
    stride: int
    """The distance between two rows, in versions."""
    withheld: str | None
    """The reason why some columns are empty, such as the privacy of the task."""

    def to_pandas(self) -> frames.DataFrame:
        """Returns a data frame of pandas with one row for each version.

        docs/guides/notebooks.md lists the columns, and `frame.attrs["units"]` has their units.

        Raises BadOptionError if pandas is not installed.
        """
        return frames.frame(self.versions, columns.VERSIONS)

    @classmethod
    def of(cls, task: views.TaskView, series: looks.SeriesView) -> History:
        """Joins a task's series with its evaluations."""
        metrics: dict[tuple[int, str], float | None] = {}
        for one in series["evaluations"]:
            metrics[one["version"], one["source"]] = (one["metrics"] or {}).get(one["metric"])
        rows = [
            {
                **point,
                "central_metric": metrics.get((point["version"], "central")),
                "federated_metric": metrics.get((point["version"], "federated")),
            }
            for point in series["points"]
        ]
        return cls(task, rows, series["stride"], series["withheld"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.task['description']['name']}: {html.line(self._facts())}>"

    def _repr_html_(self) -> str:
        shown = ("central_metric", "federated_metric", "accuracy")
        curves = {name.replace("_", " "): html.curve(self.versions, "version", name) for name in shown}
        cells = ("version", "round_number", "clients", "loss", *shown)
        return html.section(
            f"Task {self.task['description']['name']}",
            html.facts(self._facts()),
            html.chart(curves, "Metrics by version"),
            html.table(
                [cell.replace("_", " ") for cell in cells], self.versions, lambda row: [row[cell] for cell in cells]
            ),
        )

    def _facts(self) -> dict[str, html.Figure]:
        facts: dict[str, html.Figure] = {
            "state": self.task["state"],
            "version": self.task["latest_version"],
            "rounds committed": self.task["rounds_committed"],
        }
        return facts if self.withheld is None else {**facts, "withheld": self.withheld}
