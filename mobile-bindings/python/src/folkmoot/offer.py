"""An assignment, as shown to the app before the client accepts it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._native import folkmoot_mobile as native


@dataclass(frozen=True)
class AssignmentOffer:
    """An assignment, as shown to the app before the client accepts it."""

    assignment_id: str
    task_id: str
    round_number: int
    base_version: int
    download_bytes: int
    """The maximum number of bytes that would still be downloaded."""
    plan: dict[str, Any]
    """The plan, as sent by the coordinator."""

    @classmethod
    def translated(cls, offer: native.AssignmentOffer) -> AssignmentOffer:
        """Returns this package's offer for one of the native library."""
        fields = {name: getattr(offer, name) for name in cls.__dataclass_fields__ if name != "plan"}
        return cls(plan=json.loads(offer.plan), **fields)
