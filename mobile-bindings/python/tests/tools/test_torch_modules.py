"""PyTorch modules in and out: the names of all tests contain `torch`, because they run where PyTorch is installed."""

import folkmoot
import numpy as np
import pytest
from folkmoot import torch as federated
from folkmoot.export import weights
from small_task import PROGRAM

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RATE = 0.1


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(3, 5)
        self.norm = torch.nn.BatchNorm1d(5)
        self.out = torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.norm(self.hidden(x))))


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3, bias=False)
        self.second = torch.nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def task(report_goal=1, rounds=1, loss="softmax_cross_entropy", batch_size=64):
    return {
        "name": "modules",
        "population": "modules",
        "plan": {"loss": loss, "epochs": 1, "batch_size": batch_size, "optimizer": {"sgd": {"learning_rate": RATE}}},
        "scheduling": {"kind": "synchronous", "report_goal": report_goal, "over_selection_factor": 1.0},
        "stop": {"rounds": rounds},
    }


def rows(count=60):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(count, 3)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] > 0).astype(np.int64)


def simulate(module, data, described=None, **more):
    options = {"clients": 1, "held_out": data, "program": PROGRAM, "seed": 1, **more}
    return federated.simulate(module, described or task(), data, **options)


def test_torch_modules_are_trained_in_place_as_pytorch_would_train_them():
    torch.manual_seed(1)
    module, twin = Network(), Network()
    twin.load_state_dict(module.state_dict())
    x, y = rows()
    done = simulate(module, (x, y))
    optimizer = torch.optim.SGD(twin.parameters(), lr=RATE)
    torch.nn.functional.cross_entropy(twin(torch.from_numpy(x)), torch.from_numpy(y)).backward()
    optimizer.step()
    # ONNX divides the variance of a batch by its rows, and PyTorch by one less: 0.1 is the share of the batch.
    start = 0.9 * torch.ones(5)
    twin.norm.running_var.copy_(start + (twin.norm.running_var - start) * (len(x) - 1) / len(x))
    for (name, one), other in zip(module.state_dict().items(), twin.state_dict().values()):
        if name != "norm.num_batches_tracked":
            np.testing.assert_allclose(one.numpy(), other.numpy(), atol=2e-6, err_msg=name)
    assert done.output is None and done.rounds[0]["version"] == 1


def test_torch_modules_with_tied_and_frozen_weights(tmp_path):
    torch.manual_seed(2)
    tied = Tied()
    x, _ = rows()
    before = tied.first.weight.detach().clone()
    targets = np.tanh(x)
    simulate(tied, (x, targets), task(loss="mean_squared_error"))
    assert tied.second.weight is tied.first.weight and not torch.equal(before, tied.first.weight)
    module = Network()
    module.hidden.requires_grad_(False)
    hidden = module.hidden.weight.detach().clone()
    done = simulate(module, rows(), output=tmp_path / "out")
    assert torch.equal(module.hidden.weight, hidden)
    assert "hidden.weight" not in weights(done.output / "model.onnx")


def test_torch_modules_of_a_task_are_downloaded_by_name(coordinator):
    torch.manual_seed(3)
    module = Network()
    start = module.out.weight.detach().clone()
    x, y = rows()
    created = federated.create_task(coordinator.admin, task(rounds=2), module, torch.zeros(1, 3))
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    trainer = federated.ModuleTrainer(
        Network(),
        dataset,
        torch.nn.functional.cross_entropy,
        lambda parameters: torch.optim.SGD(parameters, lr=RATE),
        seed=1,
    )
    with coordinator.client(created["id"], trainer=trainer) as client:
        assert client.run(rounds=2) == 2
    coordinator.wait_for_rounds(created["id"], 2)
    assert federated.download(module, coordinator.admin, created) == 2
    trained = coordinator.weights(created["id"])
    np.testing.assert_array_equal(module.out.weight.detach().numpy(), trained["out.weight"])
    # One client: the version is what the trainer's own module has reached, but for the fixed-point grid.
    np.testing.assert_allclose(trained["out.weight"], trainer.module.out.weight.detach().numpy(), atol=1e-6)
    assert federated.download(module, coordinator.admin, created, 0) == 0
    assert torch.equal(module.out.weight, start)


def test_torch_trainers_measure_on_what_they_hold_out():
    torch.manual_seed(4)
    x, y = rows()
    module = Network().eval()
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    trainer = federated.ModuleTrainer(
        Network(),
        dataset,
        torch.nn.functional.cross_entropy,
        lambda parameters: torch.optim.SGD(parameters, lr=0.0),
        held_out=dataset,
    )
    work = type("Work", (), {"weights": {k: v.numpy() for k, v in module.state_dict().items() if "num" not in k}})()
    work.plan = {"training": {"batch_size": 25}}
    measured = trainer.evaluate(work)
    with torch.no_grad():
        outputs = module(torch.from_numpy(x))
        loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(y))
    assert measured.example_count == 60 and measured.loss == pytest.approx(float(loss), rel=1e-5)
    assert measured.correct_count == int((outputs.argmax(1).numpy() == y).sum())


def test_torch_trainers_move_batches_to_the_device_of_the_module():
    class Several(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return {"ids": torch.zeros(3), "pair": (torch.zeros(1), torch.ones(1))}, index

    # Every machine has this device, whose tensors have no numbers.
    elsewhere = Network().to("meta")
    trainer = federated.ModuleTrainer(elsewhere, Several(), None, None)
    [(x, y)] = trainer._batches(Several(), 4, shuffle=False)
    assert {one.device.type for one in (x["ids"], *x["pair"], y)} == {"meta"} and x["ids"].shape == (4, 3)
    without = federated.ModuleTrainer(torch.nn.Flatten(), Several(), None, None)
    [(x, y)] = without._batches(Several(), 4, shuffle=False)
    assert y.tolist() == [0, 1, 2, 3]


def test_torch_mistakes_are_named(tmp_path):
    module = Network()
    before = {name: one.clone() for name, one in module.state_dict().items()}
    good = {name: one.numpy() for name, one in module.state_dict().items() if "num" not in name}
    for wrong, words in (
        ({**good, "extra": np.zeros(1)}, "no weight `extra`"),
        ({**good, "out.bias": np.zeros(3, np.float32)}, r"`out.bias` has the shape \(3,\).*\(2,\)"),
        ({name: one for name, one in good.items() if name != "out.bias"}, "no trained weights for out.bias"),
    ):
        with pytest.raises(folkmoot.BadOptionError, match=words):
            federated.load(module, wrong)
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items()), "nothing was copied"
    with pytest.raises(folkmoot.BadOptionError, match="example_input is missing"):
        federated.simulate(module, task(), "data.csv", program=PROGRAM)
    with pytest.raises(folkmoot.SimulationError, match="epoks"):
        simulate(module, rows(), {**task(), "plan": {**task()["plan"], "epoks": 1}})
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items())
    with pytest.raises(folkmoot.BadOptionError, match="must be a torch.nn.Module"):
        federated.ModuleTrainer(3, [], None, None)
