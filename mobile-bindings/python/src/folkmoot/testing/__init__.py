"""A throw-away coordinator for the tests of an app that trains.

    # conftest.py
    pytest_plugins = ["folkmoot.testing.fixtures"]

    # test_training.py
    def test_the_app_trains(folkmoot_coordinator):
        task = folkmoot_coordinator.create_task("task.toml", "model.onnx")
        with folkmoot_coordinator.simulated_clients(task, x, y, count=2):
            with folkmoot_coordinator.client(task) as client:
                client.examples.add(*my_app.examples())
                assert client.run(rounds=1) == 1

It runs the real program over real TLS, so it needs the command-line program: `FOLKMOOT_PROGRAM` names it, or it is on the PATH.
"""

from .clients import SimulatedClients
from .coordinator import Coordinator, StartError, WaitError

__all__ = ["Coordinator", "SimulatedClients", "StartError", "WaitError"]
