"""Writes models of scikit-learn as skl2onnx exports them, and the outputs that scikit-learn computes.

    pip install scikit-learn skl2onnx
    python make.py

A test of the engine (client-sdk/engine/tests/scikit.rs) compares the outputs, checks the gradients, and trains the models.
Written with scikit-learn 1.9 and skl2onnx 1.20.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

HERE = Path(__file__).parent
ROWS, FEATURES = 12, 4
RANDOM = np.random.default_rng(1)
X = RANDOM.integers(-8, 9, (ROWS, FEATURES)).astype(np.float32) / 4
NUMBERS = RANDOM.integers(0, 3, (ROWS, 2)).astype(np.int64)
TWO, THREE = np.arange(ROWS) % 2, np.arange(ROWS) % 3
SUM = (X @ np.arange(1, FEATURES + 1)).astype(np.float32)
# Converted to initializers, which look like weights.
FROZEN = {"scaled": ["*_Mulcst", "*_Addcst"]}
SOFTMAX, LOGISTIC, SQUARED = "softmax_cross_entropy", "binary_cross_entropy", "mean_squared_error"


def both(scores):
    """The scores of both classes, as skl2onnx writes them."""
    return np.stack([-scores, scores], 1)


def main():
    warnings.simplefilter("ignore")
    regress = LinearRegression
    columns = ColumnTransformer([("scaled", StandardScaler(), [2, 0]), ("same", "passthrough", [3])])
    tensor = {"zipmap": False}
    scores = "LinearClassifier.scores"
    cases = {
        "logistic_of_two": (LogisticRegression(), X, TWO, LOGISTIC, scores, {}),
        "logistic_of_three": (LogisticRegression(), X, THREE, SOFTMAX, scores, tensor),
        "logistic_of_words": (LogisticRegression(), X, np.array(["a", "b", "c"])[THREE], SOFTMAX, scores, {}),
        "logistic_scaled": (make_pipeline(StandardScaler(), LogisticRegression()), X, THREE, SOFTMAX, scores, tensor),
        "logistic_raw": (LogisticRegression(), X, THREE, SOFTMAX, None, {"raw_scores": True, **tensor}),
        "vector_machine": (LinearSVC(), X, THREE, "hinge", None, {}),
        "vector_machine_of_two": (LinearSVC(), X, TWO, "hinge", None, {}),
        "linear": (LinearRegression(), X, SUM, SQUARED, None, {}),
        "ridge_of_two": (Ridge(), X, np.stack([SUM, 2 * SUM], 1), SQUARED, None, {}),
        "scaled": (make_pipeline(MinMaxScaler(), regress()), X, SUM, SQUARED, None, {}),
        "imputed": (
            make_pipeline(SimpleImputer(missing_values=0.5), RobustScaler(), regress()),
            X,
            SUM,
            SQUARED,
            None,
            {},
        ),
        "normalized": (make_pipeline(Normalizer(), regress()), X, SUM, SQUARED, None, {}),
        "absolute": (make_pipeline(Normalizer("l1"), regress()), X, SUM, SQUARED, None, {}),
        "binary": (make_pipeline(Binarizer(threshold=0.25), regress()), X, SUM, SQUARED, None, {}),
        "columns": (make_pipeline(columns, regress()), X, SUM, SQUARED, None, {}),
        "products": (make_pipeline(PolynomialFeatures(2), regress()), X, SUM, SQUARED, None, {}),
        "ordinal": (make_pipeline(OrdinalEncoder(), regress()), NUMBERS, SUM, SQUARED, None, {}),
        "one_hot": (make_pipeline(OneHotEncoder(sparse_output=False), regress()), NUMBERS, SUM, SQUARED, None, {}),
        "tree": (DecisionTreeClassifier(max_depth=2), X, TWO, LOGISTIC, None, tensor),
    }
    found = {}
    for name, (model, x, y, loss, output, options) in cases.items():
        model.fit(x, y)
        last = model[-1] if hasattr(model, "steps") else model
        exported = to_onnx(model, x[:1], options={id(last): options} if options else None)
        (HERE / f"{name}.onnx").write_bytes(exported.SerializeToString())
        outputs = expected(model, x) if name != "tree" else np.zeros(0)
        if name == "logistic_of_two":
            outputs = both(outputs)
        found[name] = {
            "loss": loss,
            "output": output,
            "frozen": FROZEN.get(name, []),
            "width": x.shape[1],
            "features": [float(number) for number in x.flatten()],
            "outputs": [float(f"{number:.7g}") for number in np.asarray(outputs, np.float64).flatten()],
        }
    (HERE / "expected.json").write_text(json.dumps(found) + "\n")


def expected(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


if __name__ == "__main__":
    main()
