"""An assignment, as shown to the app before the client accepts it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._native import folkmoot_mobile as native
from ._notebook import html


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {html.line(self._facts())}>"

    def _repr_html_(self) -> str:
        return html.section("Offer of an assignment", html.facts(self._facts()))

    def _facts(self) -> dict[str, html.Figure]:
        training = self.plan.get("training", {})
        loss = training.get("loss")
        return {
            "task": self.task_id,
            "round": self.round_number,
            "from version": self.base_version,
            "to download": html.size(self.download_bytes),
            "loss": loss if isinstance(loss, str) else next(iter(loss), None) if isinstance(loss, dict) else None,
            "epochs": training.get("epochs"),
            "batch size": training.get("batch_size"),
        }

    @classmethod
    def translated(cls, offer: native.AssignmentOffer) -> AssignmentOffer:
        """Returns this package's offer for one of the native library."""
        fields = {name: getattr(offer, name) for name in cls.__dataclass_fields__ if name != "plan"}
        return cls(plan=json.loads(offer.plan), **fields)
