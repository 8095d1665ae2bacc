"""The arguments of your own functions in a simulation: `folkmoot.simulate(…, select=…, aggregate=…, finalize=…)`.

    def trimmed(updates, commit):
        total = numpy.zeros(commit.parameters)
        for first, rows in updates.tiles():
            total[first : first + rows.shape[1]] = numpy.sort(rows, axis=0)[1:-1].mean(axis=0)
        return total

All arrays of a whole model are flat and have the tensors in the order of the ONNX file. `commit.tensors(flat)` divides one by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union, overload

TILE_BYTES = 16 << 20
"""The size of all rows of a tile together."""

Values = Union[Any, Mapping[str, Any]]
"""The values of a whole model: a flat array, or arrays by the tensors' names."""

Aggregate = Callable[["Updates", "Commit"], Values]
"""A function that combines updates. It returns the change of the model, before the finalizer."""

Finalize = Callable[[Any, Any, "Commit"], Values]
"""A function that changes the model. It gets the weights and the aggregate, and returns the next weights."""

Select = Callable[["Sequence[Client]", "Draw"], "Iterable[Union[Client, int]]"]
"""A function that draws clients. It returns clients, or their places in the list, in its order of preference."""

Read = Callable[[int, int, int, int], Any]
"""Reads the values of some updates: the first update, the number of updates, the first parameter, the number of parameters."""


@dataclass
class Commit:
    """A version that is computed."""

    version: int
    """The number of the version, from 1."""
    shapes: dict[str, tuple[int, ...]]
    """The shapes of the trained tensors, by name, in the order of the ONNX file."""
    parameters: int
    """The number of the model's parameters."""
    updates: int
    """The number of combined updates."""
    seed: int | None
    """A random number for `aggregate`, the same if the simulation runs again; `None` for `finalize`."""
    mean_staleness: float | None
    """The mean staleness of the updates in versions, for `finalize`; `None` for `aggregate`."""
    state: Any
    """Your own data. Set it to any object; the next version's commit has a copy. It is `None` for the first version and after a
    rollback. `aggregate` and `finalize` each have their own."""

    def tensors(self, flat: Any) -> dict[str, Any]:
        """Divides a flat array by tensors. The arrays are views of it."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            count = math.prod(shape)
            found[name] = flat[start : start + count].reshape(shape)
            start += count
        return found

    def flat(self, values: Values, dtype: str = "float64") -> Any:
        """Joins arrays by name to one flat array. A flat array stays as it is. Raises ValueError if the shapes are not the model's."""
        import numpy

        if isinstance(values, Mapping):
            given = {name: numpy.shape(one) for name, one in values.items()}
            if given != self.shapes:
                raise ValueError(f"the tensors have the shapes {given}; the model has {self.shapes}")
            return numpy.concatenate([numpy.asarray(values[name], dtype).ravel() for name in self.shapes])
        flat = numpy.asarray(values, dtype)
        if flat.shape != (self.parameters,):
            raise ValueError(
                f"the array has the shape {flat.shape}; return one of the shape ({self.parameters},), or arrays by tensor name"
            )
        return flat


@dataclass
class Draw:
    """A draw of clients."""

    number: int
    """The number of the draw in this task, from 1. A flow has many draws in a round."""
    round: int
    """The number of the round, from 1."""
    version: int
    """The number of the version that the clients start from."""
    count: int
    """The number of clients that the round wants. More are never drawn."""
    seed: int
    """A random number, a new one for each draw, the same if the simulation runs again."""
    state: Any
    """Your own data. Set it to any object; the next draw has a copy. It is `None` for the first draw. A rollback of the model does
    not change it."""


@dataclass(frozen=True)
class Client:
    """A client that waits, with its history in this task. Clients can lie about what they report."""

    key: int
    """A number that stands for the client. It is the same in each draw."""
    examples: int
    """The number of examples that the client reports."""
    attributes: Mapping[str, str] = field(hash=False)
    """The attributes that the client reports."""
    starts: int
    """The number of the client's assignments."""
    accepted: int
    """The number of the client's accepted updates."""
    failures: int
    """The number of the client's last assignments in a row without an update."""
    last_round: int | None
    """The number of the round of the client's last assignment."""
    loss: float | None
    """The mean loss of the client's last accepted update."""
    milliseconds: int | None
    """Milliseconds from the client's last accepted assignment to its update."""
    _index: int = field(repr=False)


@dataclass(frozen=True)
class Update:
    """An update of a client. Clients are not named. They report `examples`, `steps` and `loss` themselves and can lie."""

    weight: int
    """The weight that the task's plan allows the client, at least 1."""
    attenuation: float
    """The factor for the staleness of the update, from 0 to 1. It is 1 for a fresh update."""
    staleness: int
    """The number of versions that were released while the client trained."""
    examples: int
    """The number of examples that the client trained on, counted each time."""
    steps: int
    """The number of the client's local steps."""
    loss: float | None
    """The mean loss of the local training."""
    _index: int = field(repr=False)
    _commit: Commit = field(repr=False)
    _read: Read = field(repr=False)

    @property
    def flat(self) -> Any:
        """The change of the model as one flat float32 array. It is read at each access and not kept."""
        return self._read(self._index, 1, 0, self._commit.parameters)[0]

    @property
    def tensors(self) -> dict[str, Any]:
        """The change of the model, by tensor name. It is read at each access and not kept."""
        return self._commit.tensors(self.flat)


class Updates(Sequence[Update]):
    """The updates of a round. Their values stay with the program until you read them."""

    def __init__(self, updates: Sequence[Update], commit: Commit, read: Read, read_weights: Callable[[], Any]) -> None:
        """Creates the updates of a commit. `folkmoot.simulate` does so."""
        self._updates = updates
        self._commit = commit
        self._read = read
        self._read_weights = read_weights

    def __len__(self) -> int:
        return len(self._updates)

    @overload
    def __getitem__(self, index: int) -> Update: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Update]: ...

    def __getitem__(self, index: int | slice) -> Update | Sequence[Update]:
        return self._updates[index]

    def rows(self, first: int = 0, last: int | None = None) -> Any:
        """Reads a range of parameters of all updates, as a float32 array with a row for each update. Without a range, that is a
        copy of every whole update. Raises IndexError if the model has no such parameters."""
        last = self._commit.parameters if last is None else last
        if not 0 <= first <= last <= self._commit.parameters:
            raise IndexError(f"there are no parameters {first} to {last}; the model has {self._commit.parameters}")
        return self._read(0, len(self), first, last - first)

    def tiles(self, size: int | None = None) -> Iterator[tuple[int, Any]]:
        """Yields the first parameter of each tile and the tile's `rows`, in order. `size` is the number of parameters in a tile. By
        default, a tile has 16 MiB."""
        step = size or max(1, TILE_BYTES // 4 // max(1, len(self)))
        for first in range(0, self._commit.parameters, step):
            yield first, self.rows(first, min(first + step, self._commit.parameters))

    def weights(self) -> Any:
        """Reads the newest weights of the model, as a flat float32 array."""
        return self._read_weights()
