"""What tests share: a coordinator, and examples."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from coordinator import Coordinator


@pytest.fixture
def coordinator(tmp_path):
    """A coordinator of its own for each test: kinds of failure do not reach the next one."""
    running = Coordinator(tmp_path)
    yield running
    running.close()


@pytest.fixture
def generator():
    """Draws that are always the same."""
    return np.random.default_rng(20240607)
