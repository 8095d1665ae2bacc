"""The part of the administrative API that uploads models, examples and components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .._buffers import ArrayLike
from . import files, looks, views
from .filling import filled

if TYPE_CHECKING:
    from .connection import Connection
    from .files import Source


class Uploading:
    """Uploads what tasks refer to."""

    _connection: Connection

    def create_model(self, model: bytes | Source) -> views.ModelView:
        """Uploads an ONNX model, given as a path or bytes. Uploading the same model again changes nothing.

        If the model stores weights in data files beside it, give its path.
        """
        return filled(views.ModelView, self._connection.send("models", files.model(model)))

    def create_evaluation_data(
        self, x: ArrayLike, y: ArrayLike, *, labels: Literal["classes", "targets"] | None = None
    ) -> views.EvaluationDataView:
        """Uploads the operator's own examples, on which the coordinator evaluates. They are stored on the coordinator.

        `x` has the shape `[examples, ...]`, and `y` the shape `[examples]` or `[examples, labels per example]`.
        Integers in `y` are classes and other numbers are targets, unless `labels` overrides this.

        Raises BadExampleError if `x` and `y` do not match.
        """
        answer = self._connection.send("evaluation-data", files.examples(x, y, labels))
        return filled(views.EvaluationDataView, answer)

    def create_component(self, component: bytes | Source) -> looks.ComponentView:
        """Uploads a WebAssembly component, given as a path or bytes. Uploading the same component again changes nothing.

        A task names the result's `component` as its selection, aggregator or finalizer.
        """
        return filled(looks.ComponentView, self._connection.send("components", files.content(component)))
