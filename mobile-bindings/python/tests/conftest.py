"""Fixtures that tests share: a coordinator, and examples."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = ["folkmoot.testing.fixtures"]


@pytest.fixture
def coordinator(folkmoot_coordinator):
    """A separate coordinator for each test, so that failures do not affect the next one."""
    return folkmoot_coordinator


@pytest.fixture
def generator():
    """A random generator with a fixed seed."""
    return np.random.default_rng(20240607)


@pytest.fixture
def few_collections(monkeypatch):
    """Flower collects garbage for each array that it reads, which takes a tenth of a second in a process with many modules."""
    monkeypatch.setattr("gc.collect", lambda generation=2: 0)
