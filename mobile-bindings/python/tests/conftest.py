"""Fixtures that tests share: a coordinator, and examples."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from coordinator import Coordinator


@pytest.fixture
def coordinator(tmp_path):
    """A separate coordinator for each test, so that failures do not affect the next one."""
    running = Coordinator(tmp_path)
    yield running
    running.close()


@pytest.fixture
def generator():
    """A random generator with a fixed seed."""
    return np.random.default_rng(20240607)
