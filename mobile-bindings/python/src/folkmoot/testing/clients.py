"""Clients that take part in the background of a test."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from .. import _buffers
from .._buffers import ArrayLike
from ..client import Client
from ..errors import BadOptionError


class SimulatedClients:
    """Real clients with a part of the examples each. They run in the background within a `with` block."""

    def __init__(self, clients: Iterable[Client], x: ArrayLike, y: ArrayLike, seed: int) -> None:
        """Takes opened clients, and divides the rows among them.

        Raises BadOptionError if a client would have no row, or NumPy is missing.
        """
        self._opened = ExitStack()
        self.clients: list[Client] = []
        """The clients."""
        try:
            self.clients.extend(self._opened.enter_context(client) for client in clients)
            self._divide(x, y, seed)
        except BaseException:
            self.close()
            raise

    def _divide(self, x: ArrayLike, y: ArrayLike, seed: int) -> None:
        numpy: Any = _buffers.numpy
        if numpy is None:
            raise BadOptionError("simulated clients need NumPy; run `pip install numpy`")
        features, labels = numpy.asarray(x), numpy.asarray(y)
        count = len(self.clients)
        if len(features) != len(labels) or not 0 < count <= len(features):
            raise BadOptionError(
                f"{count} clients cannot divide {len(features)} rows with {len(labels)} labels; "
                "give one label for each row, and at least one row for each client"
            )
        order = numpy.random.default_rng(seed).permutation(len(features))
        for client, rows in zip(self.clients, numpy.array_split(order, count)):
            client.examples.add(features[rows], labels[rows])

    def close(self) -> None:
        """Stops and closes all clients. Calling it again has no effect."""
        self._opened.close()

    def __enter__(self) -> SimulatedClients:
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
