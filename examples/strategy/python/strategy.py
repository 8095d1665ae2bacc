"""A median of means: updates are dealt to groups at random, and each parameter is the median of the groups' means.

Lugosi and Mendelson 2021, "Robust multivariate mean estimation: the optimality of trimmed mean", describe the idea. The setting is the
number of groups. Choose more groups than twice the number of hostile clients.
"""

import random
from statistics import fmean, median

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.aggregator import Commit, Update
from wit_world.imports import host

# Each call has a new object, and each commit a new interpreter: this is the state between the calls of one commit.
GROUPS: list[list[int]] = []


def groups_in(settings: str) -> int:
    """Read the number of groups."""
    try:
        count = int(settings or "5")
    except ValueError:
        message = f"the settings are {settings!r}; they must be a number of groups, such as 5"
        raise Err(message) from None
    if count < 1:
        message = f"there are {count} groups; there must be at least 1"
        raise Err(message)
    return count


class Aggregator(exports.Aggregator):
    """The functions that the coordinator calls."""

    def check(self, settings: str) -> None:
        """Check the settings when a task is created."""
        groups_in(settings)

    def begin(self, commit: Commit, updates: list[Update], state: bytes) -> int:
        """Deal the updates to groups. No pass over their values is needed."""
        order = list(range(len(updates)))
        random.Random(commit.seed).shuffle(order)
        count = min(groups_in(commit.settings), len(order))
        GROUPS[:] = [order[place::count] for place in range(count)]
        host.log(f"{len(order)} updates in {count} groups")
        return 0

    def measure(self, pass_: int, first: int, rows: list[list[float]]) -> None:
        """Do nothing: `begin` asks for no pass."""

    def combine(self, first: int, rows: list[list[float]]) -> list[float]:
        """Combine a tile: `rows` has the values of each update."""
        means = [[fmean(values) for values in zip(*(rows[row] for row in group), strict=True)] for group in GROUPS]
        return [median(values) for values in zip(*means, strict=True)]

    def finish(self) -> bytes:
        """Keep nothing for the next version."""
        return b""
