"""A fixture for pytest. Name this module in your `conftest.py`: `pytest_plugins = ["folkmoot.testing.fixtures"]`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .coordinator import Coordinator


@pytest.fixture
def folkmoot_coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator of its own for each test. Its data and its log are in the test's temporary folder."""
    with Coordinator(tmp_path) as coordinator:
        yield coordinator
