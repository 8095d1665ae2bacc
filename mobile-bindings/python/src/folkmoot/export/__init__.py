"""Models of PyTorch and scikit-learn as ONNX files that Folkmoot trains.

from folkmoot.export import sklearn_to_onnx, to_onnx

to_onnx(module, torch.zeros(1, 64), "model.onnx")
sklearn_to_onnx(make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y), "model.onnx")
"""

from .graph import Exported, ExportError, weights
from .pytorch import to_onnx
from .scikit_learn import sklearn_to_onnx

__all__ = ["ExportError", "Exported", "sklearn_to_onnx", "to_onnx", "weights"]
