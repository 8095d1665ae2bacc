"""The estimators for scikit-learn, with the real program."""

import pickle
import subprocess
import sys

import folkmoot
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from small_task import PROGRAM

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from folkmoot.sklearn import FederatedClassifier, FederatedRegressor
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

SETTINGS = {
    "clients": 3,
    "rounds": 8,
    "epochs": 4,
    "batch_size": 8,
    "learning_rate": 0.2,
    "random_state": 0,
    "threads": 1,
}
CHECKED = [FederatedClassifier(**SETTINGS, program=PROGRAM), FederatedRegressor(**SETTINGS, program=PROGRAM)]


def checks():
    """All checks of the classifier, and of the regressor those that concern regressors: it shares the rest of its code."""
    for estimator in CHECKED:
        for checked, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            # Arrays of other libraries need a switch that changes all of scikit-learn.
            if name.startswith("check_array_api"):
                continue
            if isinstance(estimator, FederatedClassifier) or "regress" in name or "n_features" in name:
                yield pytest.param(checked, check, id=f"{type(estimator).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def classifier(**more):
    return FederatedClassifier(**{**SETTINGS, "clients": 5, "program": PROGRAM, **more})


def test_a_linear_classifier_is_nearly_as_good_as_a_central_one():
    x, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = classifier(rounds=15).fit(x, names)
    central = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, names)
    assert model.score(x, names) >= central.score(x, names) - 0.03
    probabilities = model.predict_proba(x)
    assert probabilities.shape == (150, 3) and np.allclose(probabilities.sum(1), 1.0)
    assert (model.classes_[probabilities.argmax(1)] == model.predict(x)).all()
    assert len(model.history_.rounds) == 15 == model.n_iter_
    pytest.importorskip("pandas", reason="pandas is not installed: `cargo xtask test --only python` installs it")
    assert len(model.history_.to_pandas()) == 15


def test_a_linear_regression_reaches_the_central_one():
    x, y = load_diabetes(return_X_y=True)
    model = FederatedRegressor(clients=5, rounds=20, learning_rate=0.02, random_state=1, program=PROGRAM).fit(x, y)
    assert model.score(x, y) >= LinearRegression().fit(x, y).score(x, y) - 0.02


def test_the_partition_matters_and_groups_are_clients():
    x, y = make_blobs(300, centers=4, cluster_std=3.0, random_state=3)
    even = classifier(rounds=3, epochs=1).fit(x, y)
    skewed = classifier(rounds=3, epochs=1, partition="shards:1").fit(x, y)
    assert even.history_.rounds != skewed.history_.rounds
    grouped = classifier(rounds=2).fit(x, y, groups=np.array(["north", "south", "west"])[np.arange(300) % 3])
    assert [row["reported"] for row in grouped.history_.rounds] == [3, 3]
    values = FederatedRegressor(clients=2, rounds=2, random_state=0, program=PROGRAM).fit(x, x[:, 0], groups=y)
    assert [row["reported"] for row in values.history_.rounds] == [4, 4]
    with pytest.raises(folkmoot.BadOptionError, match="one entry for each of 300 rows"):
        classifier().fit(x, y, groups=[1, 2])


@pytest.mark.parametrize(("activation", "layers"), [("relu", (8,)), ("tanh", (6, 4)), ("logistic", (5,)), ("relu", ())])
def test_the_onnx_file_predicts_what_the_estimator_predicts(tmp_path, activation, layers):
    x, y = make_blobs(120, centers=3, n_features=4, random_state=2)
    x = x * [1.0, 100.0, 0.01, 1.0]
    model = classifier(hidden_layer_sizes=layers, activation=activation, rounds=3).fit(x, y)
    exported = model.to_onnx(tmp_path / "model.onnx")
    assert (exported.loss, exported.classes) == ("softmax_cross_entropy", [0, 1, 2])
    outputs = ReferenceEvaluator(onnx.load(exported.path)).run(None, {"input": x.astype(np.float32)})[0]
    np.testing.assert_allclose(outputs, model.decision_function(x), atol=2e-4)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(x) == model.predict(x)).all()


def test_a_regressors_file_has_the_units_of_the_targets(tmp_path):
    x, y = load_diabetes(return_X_y=True)
    model = FederatedRegressor(clients=2, rounds=3, random_state=0, program=PROGRAM).fit(x, 1000.0 + 50.0 * y)
    exported = model.to_onnx(tmp_path / "model.onnx")
    outputs = ReferenceEvaluator(onnx.load(exported.path)).run(None, {"input": x.astype(np.float32)})[0]
    np.testing.assert_allclose(outputs[:, 0], model.predict(x), rtol=1e-5)


def test_without_scikit_learn_the_import_says_what_to_install():
    code = "import sys; sys.modules['sklearn.base'] = None; import folkmoot.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError: this function needs sklearn.base" in done.stderr and "pip install numpy onnx" in done.stderr


def test_it_works_with_the_rest_of_scikit_learn_and_with_tables_of_a_task():
    x, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(MinMaxScaler(), classifier(rounds=5))
    assert cross_val_score(pipeline, x, y, cv=2).mean() > 0.7
    search = GridSearchCV(classifier(rounds=2), {"epochs": [1, 8]}, cv=2).fit(x, y)
    assert search.best_params_ == {"epochs": 8}
    robust = classifier(rounds=2, task={"aggregator": {"kind": "median"}, "plan": {"epochs": 1}})
    assert robust.fit(x, y).history_.rounds != classifier(rounds=2, epochs=1).fit(x, y).history_.rounds
    with pytest.raises(folkmoot.SimulationError, match="medain"):
        classifier(task={"aggregator": {"kind": "medain"}}).fit(x, y)
    for wrong, words in (({"activation": "selu"}, "activation is 'selu'"), ({"rounds": 0}, "rounds is 0")):
        with pytest.raises(ValueError, match=words):
            classifier(**wrong).fit(x, y)
