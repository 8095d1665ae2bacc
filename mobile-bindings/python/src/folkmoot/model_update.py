"""A model that the operator has rolled out to a device."""

from __future__ import annotations

from dataclasses import dataclass

from ._native import folkmoot_mobile as native


@dataclass(frozen=True)
class ModelUpdate:
    """A model that the operator has rolled out to this device, and that predictions use."""

    rollout: int
    """The number of the rollout, from 1."""
    task_id: str
    """The task that trained the model."""
    version: int
    """The number of the model version."""
    is_new: bool
    """True if this update brought the model, false if it was there already."""

    @classmethod
    def translated(cls, update: native.ModelUpdate) -> ModelUpdate:
        """Returns the same model from the library's record."""
        return cls(update.rollout, update.task_id, update.version, update.is_new)
