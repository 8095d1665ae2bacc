"""Models of other libraries, exported as files that the engine accepts, with unchanged outputs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import folkmoot
import numpy as np
import onnx
import pytest
from folkmoot.export import ExportError, graph, sklearn_to_onnx, to_onnx, weights
from folkmoot.export.repairs import repair
from onnx.reference import ReferenceEvaluator
from small_task import PROGRAM, task_text
from test_rounds import connect

ROOT = Path(__file__).parents[3]
OPERATORS = ROOT / "docs" / "operators.md"
FEATURES = 5


def engine(*arguments):
    """Returns the output of `folkmoot engine` for a model."""
    done = subprocess.run([PROGRAM, "engine", *arguments, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def trained(path):
    """Returns the names that the engine trains; the others are statistics."""
    return [one["name"] for one in engine("inspect", str(path))["parameters"] if one["role"] == "trained"]


def outputs(path, x):
    return ReferenceEvaluator(onnx.load(path)).run(None, {"input": np.asarray(x, np.float32)})[0]


def engines_outputs(coordinator, path, x, tmp_path):
    """Returns the engine's predictions, with the version that the first round starts from."""
    y = outputs(path, x)
    task = coordinator.create_task(task_text("exported", report_goal=1, rounds=1), path)
    token = coordinator.create_token("exported")
    with connect(coordinator, tmp_path, token, device="cpu") as client:
        client.examples.add(x, y, labels="targets")
        client.run(rounds=1)
        coordinator.wait_for_rounds(task, 1)
        return client.predict(x)


def test_the_operators_are_those_of_the_page():
    listed = re.findall(r"^\| (\w+) \| \d+ \|", OPERATORS.read_text(), re.MULTILINE)
    assert set(listed) == graph.OPERATORS


@pytest.mark.parametrize(
    ("name", "operator"),
    [("gmlp", "SplitToSequence"), ("wavenet", "SplitToSequence"), ("matrix_factorization", "Slice")],
)
def test_the_default_exporters_sequences_and_whole_slices_are_replaced(name, operator, generator):
    model = onnx.load(ROOT / "tests" / "engine" / "zoo" / "files" / f"{name}.torch-unoptimized.onnx")
    [given] = model.graph.input
    shape = [dimension.dim_value or 2 for dimension in given.type.tensor_type.shape.dim]
    is_table = given.type.tensor_type.elem_type == onnx.TensorProto.INT64
    x = {given.name: generator.integers(4, size=shape) if is_table else generator.normal(size=shape).astype(np.float32)}
    before = ReferenceEvaluator(model).run(None, x)[0]
    assert operator in {node.op_type for node in model.graph.node}
    repair(model)
    operators = {node.op_type for node in model.graph.node}
    assert operators <= graph.OPERATORS and operator not in operators
    np.testing.assert_array_equal(ReferenceEvaluator(model).run(None, x)[0], before)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
class TestScikitLearn:
    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")

    @pytest.fixture
    def table(self, generator):
        """Features at different scales, two kinds of labels, and targets."""
        x = generator.normal(size=(60, FEATURES)) * [1.0, 10.0, 0.1, 3.0, 1.0] + [0.0, 100.0, 1.0, -2.0, 0.5]
        return x, (x[:, 0] > 0).astype(int), (x[:, 3] > -2).astype(int) + (x[:, 0] > 0), x @ np.arange(FEATURES) / 10.0

    def test_classifiers_give_the_logits_that_they_gave(self, table, tmp_path, coordinator):
        from sklearn.linear_model import LogisticRegression, SGDClassifier
        from sklearn.preprocessing import StandardScaler

        x, two, three, _ = table
        scaler = StandardScaler().fit(x)
        for classes, y in (("two", two), ("three", three)):
            for estimator in (LogisticRegression(), SGDClassifier(loss="log_loss", random_state=1)):
                fitted = estimator.fit(scaler.transform(x), np.array(["a", "b", "c"])[y])
                exported = sklearn_to_onnx(fitted, tmp_path / "model.onnx", scaler=scaler)
                expected = fitted.decision_function(scaler.transform(x)).reshape(len(x), -1)
                np.testing.assert_allclose(outputs(exported.path, x), expected, atol=1e-4, rtol=1e-4)
                assert trained(exported.path) == ["linear.weight", "linear.bias"] == list(exported.parameters)
                assert exported.loss == ("binary_cross_entropy" if classes == "two" else "softmax_cross_entropy")
                assert exported.classes == sorted({"a", "b", "c"} if classes == "three" else {"a", "b"})
        predicted = engines_outputs(coordinator, exported.path, x.astype(np.float32), tmp_path)
        np.testing.assert_allclose(predicted, expected, atol=1e-3, rtol=1e-3)

    def test_regressions_give_the_values_that_they_gave(self, table, tmp_path):
        from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x, _, _, y = table
        several = np.stack([y, -y, x[:, 0]], axis=1)
        estimators = [(LinearRegression(), y), (Ridge(), several), (LinearRegression(fit_intercept=False), y)]
        estimators.append((make_pipeline(StandardScaler(), "passthrough", SGDRegressor(random_state=1)), y))
        for estimator, targets in estimators:
            fitted = estimator.fit(x, targets)
            exported = sklearn_to_onnx(fitted, tmp_path / "model.onnx")
            expected = fitted.predict(x).reshape(len(x), -1)
            np.testing.assert_allclose(outputs(exported.path, x), expected, atol=2e-4, rtol=1e-4)
            assert exported.loss == "mean_squared_error" and exported.classes is None
            assert trained(exported.path) == list(exported.parameters)
        bias = {"linear.weight", "linear.bias"}
        assert set(exported.parameters) == bias, "the scaler's numbers are constants"

    @pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
    def test_perceptrons_give_what_they_gave(self, table, tmp_path, activation):
        from sklearn.neural_network import MLPClassifier, MLPRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x, _, three, y = table
        options = {"hidden_layer_sizes": (8, 4), "activation": activation, "max_iter": 20, "random_state": 1}
        classifier = make_pipeline(StandardScaler(), MLPClassifier(**options)).fit(x, three)
        exported = sklearn_to_onnx(classifier, tmp_path / "model.onnx")
        logits = outputs(exported.path, x)
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        np.testing.assert_allclose(shares, classifier.predict_proba(x), atol=1e-5)
        layers = [f"layer_{number}.{part}" for number in (1, 2, 3) for part in ("weight", "bias")]
        assert trained(exported.path) == layers and exported.loss == "softmax_cross_entropy"
        regressor = MLPRegressor(**options).fit(x / 100, y)
        exported = sklearn_to_onnx(regressor, tmp_path / "model.onnx")
        np.testing.assert_allclose(outputs(exported.path, x / 100)[:, 0], regressor.predict(x / 100), atol=1e-4)

    def test_what_was_fitted_here_goes_on_there(self, coordinator, table, tmp_path):
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x, two, _, _ = table
        pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(x, two)
        exported = sklearn_to_onnx(pipeline, tmp_path / "model.onnx")
        rows = {"delimiter": ",", "header": "a,b,c,d,e,y", "comments": "", "fmt": ["%.9g"] * FEATURES + ["%d"]}
        np.savetxt(tmp_path / "table.csv", np.column_stack([x, two]), **rows)
        measured = coordinator.call("eval", str(exported.path), "--data", str(tmp_path / "table.csv"))
        assert measured["example_count"] == len(x)
        np.testing.assert_allclose(measured["accuracy"], pipeline.score(x, two), atol=1e-9)
        text = task_text("goes-on", report_goal=1, rounds=5, loss=exported.loss)
        task = coordinator.create_task(text, exported.path)
        with connect(coordinator, tmp_path, coordinator.create_token("goes-on"), device="cpu") as client:
            client.examples.add(x, two)
            client.run(rounds=5)
        versions = coordinator.wait_for_rounds(task, 5)
        assert len(versions) == 5
        scaler = onnx.load(exported.path).graph.node[0].attribute[0].t
        coordinator.weights(task)
        after = onnx.load(tmp_path / "downloaded.onnx").graph.node[0].attribute[0].t
        assert scaler.raw_data == after.raw_data, "the scaler stays as it was"
        better = coordinator.call("eval", str(tmp_path / "downloaded.onnx"), "--data", str(tmp_path / "table.csv"))
        assert better["mean_loss"] < measured["mean_loss"]

    def test_what_cannot_be_exported_says_why(self, table, tmp_path):
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler, StandardScaler
        from sklearn.tree import DecisionTreeClassifier

        x, two, _, _ = table
        cases = [
            (DecisionTreeClassifier().fit(x, two), {}, "DecisionTreeClassifier cannot be exported.*gradients"),
            (LogisticRegression(), {}, "not fitted"),
            (make_pipeline(MinMaxScaler(), LogisticRegression()).fit(x, two), {}, "MinMaxScaler"),
            (LogisticRegression().fit(x[:, :2], two), {"scaler": StandardScaler().fit(x)}, "5 features.* 2"),
            (LogisticRegression().fit(x, two), {"scaler": StandardScaler()}, "StandardScaler is not fitted"),
        ]
        for estimator, options, words in cases:
            with pytest.raises(ExportError, match=words):
                sklearn_to_onnx(estimator, tmp_path / "model.onnx", **options)
        fitted = LogisticRegression().fit(x, two)
        with pytest.raises(folkmoot.BadOptionError, match="opset"):
            sklearn_to_onnx(fitted, tmp_path / "model.onnx", opset=3)
        with pytest.raises(folkmoot.BadOptionError, match="nowhere"):
            sklearn_to_onnx(fitted, tmp_path / "nowhere" / "model.onnx")
        fitted.coef_[0, 0] = np.nan
        with pytest.raises(ExportError, match="NaN"):
            sklearn_to_onnx(fitted, tmp_path / "model.onnx")
        assert not (tmp_path / "model.onnx").exists()


class TestPyTorch:
    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("torch", reason="PyTorch is not installed")

    @pytest.fixture
    def picture(self):
        """A convolutional network with everything that is not a weight: buffers, statistics, dropout, frozen
        parameters.
        """
        import torch
        from torch import nn

        class Picture(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.tensor(1 / 16))
                self.convolution = nn.Conv2d(1, 4, 3, padding=1, bias=False)
                self.normalise = nn.BatchNorm2d(4)
                self.dropout = nn.Dropout(0.2)
                self.frozen = nn.Linear(256, 16)
                self.frozen.requires_grad_(False)
                self.last = nn.Linear(16, 10)

            def forward(self, x):
                x = (x * self.scale).reshape(-1, 1, 8, 8)
                x = torch.relu(self.normalise(self.convolution(x)))
                return self.last(torch.tanh(self.frozen(self.dropout(x.flatten(1)))))

        torch.manual_seed(1)
        return Picture()

    def test_a_module_gives_what_it_gave(self, coordinator, picture, generator, tmp_path):
        import torch

        before = {name: tensor.clone() for name, tensor in picture.state_dict().items()}
        exported = to_onnx(picture, torch.zeros(1, 64), tmp_path / "model.onnx")
        assert all(torch.equal(tensor, before[name]) for name, tensor in picture.state_dict().items()), (
            "it is as before"
        )
        weights = ["convolution.weight", "normalise.weight", "normalise.bias", "last.weight", "last.bias"]
        assert trained(exported.path) == weights
        assert set(exported.parameters) - set(weights) == {"normalise.running_mean", "normalise.running_var"}
        initial = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(exported.path).graph.initializer}
        np.testing.assert_array_equal(initial["normalise.running_var"], np.ones(4, np.float32))
        x = generator.uniform(0, 16, size=(7, 64)).astype(np.float32)
        with torch.no_grad():
            expected = picture.eval()(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(outputs(exported.path, x), expected, atol=1e-5)
        np.testing.assert_allclose(engines_outputs(coordinator, exported.path, x, tmp_path), expected, atol=1e-4)
        assert "Dropout" in engine("inspect", str(exported.path))["operators"]
        engine("check", str(exported.path))

    @pytest.mark.parametrize("kind", ["text", "tied", "normalised", "attention", "residual", "recurrent", "picture"])
    def test_modules_of_all_kinds_give_what_they_gave(self, tmp_path, kind):
        import torch
        from pytorch_modules import module

        torch.manual_seed(1)
        given, example, shape = module(kind)
        exported = to_onnx(given, example, tmp_path / "model.onnx")
        shown = engine("inspect", str(exported.path))
        assert tuple(shown["output_shape"]) == shape
        expected = {name: tuple(one.shape) for name, one in given.named_parameters()}
        assert {one["name"]: tuple(one["shape"]) for one in shown["parameters"] if one["role"] == "trained"} == expected
        # Compares the engine's outputs with another implementation, and its gradients with finite differences.
        engine("check", str(exported.path))
        rows = (
            torch.randint(0, 20, (5, *example.shape[1:]))
            if example.dtype == torch.int64
            else torch.randn(5, *example.shape[1:])
        )
        with torch.no_grad():
            y = given.float().eval()(rows)
        first = y[0] if isinstance(y, tuple) else y
        computed = ReferenceEvaluator(onnx.load(exported.path)).run(None, {"input": rows.numpy()})[0]
        np.testing.assert_allclose(computed, first.numpy(), atol=1e-5)

    def test_several_inputs_of_free_length_are_columns(self, tmp_path):
        import torch
        from pytorch_modules import Masked

        torch.manual_seed(1)
        module = Masked()
        example = (torch.zeros(1, 6, dtype=torch.int64), torch.ones(1, 6))
        exported = to_onnx(module, example, tmp_path / "model.onnx", free_length=1)
        shown = engine("inspect", str(exported.path))
        assert [(one["name"], one["length_axis"]) for one in shown["inputs"]] == [("ids", 0), ("mask", 0)]
        assert shown["input_shape"] == [2 * shown["inputs"][0]["shape"][0]]
        # Compares the outputs with another implementation, and the gradients with finite differences.
        engine("check", str(exported.path))
        for length in (1, 3, 9):
            ids, mask = torch.randint(0, 20, (5, length)), torch.rand(5, length)
            with torch.no_grad():
                expected = module(ids, mask).numpy()
            given = {"ids": ids.numpy(), "mask": mask.numpy()}
            computed = ReferenceEvaluator(onnx.load(exported.path)).run(None, given)[0]
            np.testing.assert_allclose(computed, expected, atol=1e-5)
            data = tmp_path / f"{length}.npz"
            np.savez(data, x=np.concatenate([ids, mask], axis=1).astype(np.float32), y=expected.argmax(1))
            done = subprocess.run(
                [PROGRAM, "eval", exported.path, "--data", data, "--json"], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["accuracy"] == 1.0
            trained = [PROGRAM, "engine", "train", exported.path, "--data", data, "--out", tmp_path / "trained.onnx"]
            done = subprocess.run(trained, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

    def test_what_was_trained_goes_back_into_the_module(self, picture, tmp_path, coordinator, generator):
        import torch

        exported = to_onnx(picture, torch.zeros(1, 64), tmp_path / "model.onnx")
        x = generator.uniform(0, 16, size=(7, 64)).astype(np.float32)
        engines_outputs(coordinator, exported.path, x, tmp_path)
        [task] = coordinator.call("task", "list")
        coordinator.weights(task["id"])
        after = weights(tmp_path / "downloaded.onnx")
        assert list(after) == list(exported.parameters)
        before = {name: tensor.clone() for name, tensor in picture.state_dict().items()}
        arrays = {name: torch.from_numpy(array) for name, array in after.items()}
        assert picture.load_state_dict(arrays, strict=False).unexpected_keys == []
        moved = {name for name, tensor in picture.state_dict().items() if not torch.equal(tensor, before[name])}
        assert "last.weight" in moved and "normalise.running_mean" in moved and "frozen.weight" not in moved
        with torch.no_grad():
            y = picture.eval()(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(outputs(tmp_path / "downloaded.onnx", x), y, atol=1e-4)
        for wrong in (__file__, tmp_path / "nowhere.onnx"):
            with pytest.raises(folkmoot.BadOptionError, match=Path(wrong).name):
                weights(wrong)

    def test_what_cannot_be_exported_says_why(self, tmp_path):
        import torch
        from torch import nn

        class Unused(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.spare = nn.Linear(4, 1), nn.Linear(4, 1)

            def forward(self, x):
                return self.used(x)

        class Sorting(nn.Linear):
            def forward(self, x):
                return super().forward(torch.sort(x).values)

        class Raising(nn.Linear):
            def forward(self, x):
                raise RuntimeError("not today")

        class First(nn.Linear):
            def forward(self, first, second):
                return super().forward(first)

        row = torch.zeros(1, 4)
        cases = [
            (nn.Sequential(nn.Linear(4, 2), nn.Softmax(1)), row, ExportError, "softmax.*logits"),
            (Unused(), row, ExportError, "spare.bias, spare.weight"),
            (Sorting(4, 1), row, ExportError, "TopK is not supported"),
            (Raising(4, 1), row, ExportError, "not today"),
            (nn.ReLU(), row, ExportError, "no weights"),
            (nn.Linear(4, 1), [row, row], folkmoot.BadOptionError, "has 2 tensors, but the module's forward takes 1"),
            (nn.Linear(4, 1), 4, folkmoot.BadOptionError, "must be a tensor"),
            (First(4, 1), (row, row), ExportError, "does not use second"),
            (nn.Linear, row, folkmoot.BadOptionError, "torch.nn.Module"),
        ]
        for module, example, kind, words in cases:
            with pytest.raises(kind, match=words):
                to_onnx(module, example, tmp_path / "model.onnx")
        with pytest.raises(folkmoot.BadOptionError, match="free_length is 2"):
            to_onnx(nn.Linear(4, 1), row, tmp_path / "model.onnx", free_length=2)
        assert not (tmp_path / "model.onnx").exists()


def test_a_package_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(folkmoot.BadOptionError, match="needs torch.*pip install torch"):
        to_onnx(None, None, tmp_path / "model.onnx")
    with pytest.raises(folkmoot.BadOptionError, match="needs sklearn.*pip install scikit-learn"):
        sklearn_to_onnx(None, tmp_path / "model.onnx")
