"""A median of means: updates are dealt to groups at random, and each parameter is the median of the groups' means.

Lugosi and Mendelson 2021, "Robust multivariate mean estimation: the optimality of trimmed mean", describe the idea. The setting is the
number of groups. Choose more groups than twice the number of hostile clients.
"""

import random
from statistics import fmean, median
from typing import List

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.aggregator import Commit, Update
from wit_world.imports import host


def groups_in(settings: str) -> int:
    try:
        count = int(settings or "5")
    except ValueError:
        raise Err(f"the settings are {settings!r}; they must be a number of groups, such as 5") from None
    if count < 1:
        raise Err(f"there are {count} groups; there must be at least 1")
    return count


class Aggregator(exports.Aggregator):
    groups: List[List[int]]

    def check(self, settings: str) -> None:
        groups_in(settings)

    def begin(self, commit: Commit, updates: List[Update], state: bytes) -> int:
        order = list(range(len(updates)))
        random.Random(commit.seed).shuffle(order)
        count = min(groups_in(commit.settings), len(order))
        self.groups = [order[place::count] for place in range(count)]
        host.log(f"{len(order)} updates in {count} groups")
        return 0

    def measure(self, pass_: int, first: int, rows: List[List[float]]) -> None:
        pass

    def combine(self, first: int, rows: List[List[float]]) -> List[float]:
        means = [[fmean(values) for values in zip(*(rows[row] for row in group))] for group in self.groups]
        return [median(values) for values in zip(*means)]

    def finish(self) -> bytes:
        return b""
