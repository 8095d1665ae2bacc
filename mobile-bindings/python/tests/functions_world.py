"""A small task over virtual clients, for tests of functions in simulations."""

import folkmoot
import numpy as np
import onnx
from small_task import PROGRAM, linear_model

CLIENTS, ROUNDS = 7, 5


class World:
    """Clients with different targets and different numbers of examples."""

    def __init__(self, folder):
        generator = np.random.default_rng(20240607)
        x = generator.normal(size=(210, 3)).astype(np.float32)
        noise = 0.3 * generator.normal(size=(210, 1))
        self.data = x, (x @ np.array([[1.0], [-2.0], [0.5]]) + noise).astype(np.float32)
        self.weight = generator.normal(size=(3, 1)).astype(np.float32)
        self.model = linear_model(folder / "model.onnx", self.weight, np.zeros(1, np.float32))
        self.output = folder / "output"

    def simulate(self, changes=None, world=None, **options):
        """Runs the task, and returns the simulation and the weights. `changes` are tables of the task."""
        optimizer = {"sgd": {"learning_rate": 0.1}}
        task = {
            "name": "lines",
            "population": "lines",
            "plan": {"loss": "mean_squared_error", "epochs": 1, "batch_size": 8, "optimizer": optimizer},
            "scheduling": {"kind": "synchronous", "report_goal": CLIENTS, "minimum_cohort": CLIENTS},
            "stop": {"rounds": ROUNDS},
            **(changes or {}),
        }
        sizes = {"kind": "quantity_skew", "sizes": {"power_law": {"exponent": 1.2}}}
        world = {"clients": CLIENTS, "seed": 4, "partition": sizes, **(world or {})}
        done = folkmoot.simulate(
            task, self.model, self.data, world=world, output=self.output, program=PROGRAM, **options
        )
        tensors = onnx.load(self.output / "model.onnx").graph.initializer
        return done, np.concatenate([onnx.numpy_helper.to_array(one).ravel() for one in tensors])
