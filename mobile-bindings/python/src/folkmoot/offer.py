"""What is known of an assignment when the app is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._native import folkmoot_mobile as native


@dataclass(frozen=True)
class AssignmentOffer:
    """What is known of an assignment when the app is asked."""

    assignment_id: str
    task_id: str
    round_number: int
    base_version: int
    download_bytes: int
    """Bytes that are still to be fetched, at most."""
    plan: dict[str, Any]
    """The plan, as the coordinator wrote it."""

    @classmethod
    def translated(cls, offer: native.AssignmentOffer) -> AssignmentOffer:
        """The offer of this package for one of the native library."""
        fields = {name: getattr(offer, name) for name in cls.__dataclass_fields__ if name != "plan"}
        return cls(plan=json.loads(offer.plan), **fields)
