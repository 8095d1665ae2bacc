#!/usr/bin/env python3
"""Measures Flower's secure aggregation (SecAgg+) for `cargo xtask bench secagg`.

A round runs in this process: Flower's own server workflow, and Flower's own client code for every client. Messages are
passed as objects, so nothing is serialised for a network. The script prints one JSON object: the CPU time of the server
and of a client, and the versions; or the name of a missing module.
"""

import argparse
import json
import os
import sys
import time

VALUE = 0.25
# The error that quantization may cause in the mean.
TOLERANCE = 1e-3


def main():
    arguments = parse_arguments()
    # Disable telemetry.
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    # Libraries print to standard output. Redirect it, because the benchmark reads exactly one line from it.
    standard_output = os.dup(1)
    os.dup2(2, 1)
    try:
        report = measure(arguments)
    except ModuleNotFoundError as error:
        report = {"missing": error.name}
    os.write(standard_output, (json.dumps(report) + "\n").encode())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--vanished", type=int, required=True, help="clients that vanish before they upload")
    parser.add_argument("--neighbours", type=int, required=True)
    parser.add_argument("--threshold", type=int, required=True)
    parser.add_argument("--values", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True, help="rounds to measure; the fastest is used")
    return parser.parse_args()


def measure(arguments):
    import flwr
    import numpy
    from flwr.supercore.task_identity import TaskIdentity

    # Messages carry it; a server app gets it from the platform.
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 0, 1
    rounds = [measure_round(arguments) for _ in range(arguments.rounds)]
    uploads = arguments.clients - arguments.vanished
    return {
        "server_seconds_per_update": min(server for server, _ in rounds) / uploads,
        "client_seconds": min(client for _, client in rounds),
        "version": f"{flwr.__version__}, numpy {numpy.__version__}",
    }


def measure_round(arguments):
    """Returns the CPU seconds of the server, and of one client that uploads."""
    import numpy
    from flwr.app import ArrayRecord, ConfigRecord, Context, RecordDict
    from flwr.common import FitIns, ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.server.compat.legacy_context import LegacyContext
    from flwr.server.workflow import SecAggPlusWorkflow
    from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key

    initial = ndarrays_to_parameters([numpy.zeros(arguments.values, dtype=numpy.float32)])
    means = []

    class Strategy:
        """Selects all clients, and keeps the mean that the workflow has computed."""

        def configure_fit(self, server_round, parameters, client_manager):
            return [(Proxy(client + 1), FitIns(initial, {})) for client in range(arguments.clients)]

        def aggregate_fit(self, server_round, results, failures):
            means.append(parameters_to_ndarrays(results[0][1].parameters)[0])
            return None, {}

    class Manager:
        def num_available(self):
            return arguments.clients

    state = RecordDict()
    state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: 1})
    state.array_records[MAIN_PARAMS_RECORD] = ArrayRecord([numpy.zeros(arguments.values, dtype=numpy.float32)])
    context = LegacyContext(Context(1, 0, {}, state, {}), None, Strategy(), Manager())
    # Flower counts the share that a client keeps for itself.
    workflow = SecAggPlusWorkflow(
        num_shares=arguments.neighbours + 1, reconstruction_threshold=arguments.threshold, max_weight=500.0
    )
    grid = LocalGrid(arguments)
    begin = time.process_time()
    workflow(grid, context)
    server = time.process_time() - begin - grid.seconds
    if not means or not numpy.allclose(means[0], VALUE, atol=TOLERANCE):
        sys.exit("Flower's round did not give the mean of the updates")
    return server, grid.client_seconds / (arguments.clients - arguments.vanished)


class Proxy:
    """A client as the strategy sees it."""

    def __init__(self, node_id):
        self.node_id = node_id


class LocalGrid:
    """Passes messages to clients in this process. The first `vanished` clients do not answer the request for their update."""

    def __init__(self, arguments):
        from flwr.app import Context, RecordDict

        self.vanished = set(range(1, arguments.vanished + 1))
        self.values = arguments.values
        self.contexts = {
            node_id: Context(1, node_id, {}, RecordDict(), {}) for node_id in range(1, arguments.clients + 1)
        }
        # CPU time that is not the server's.
        self.seconds = 0.0
        # CPU time of the clients that upload.
        self.client_seconds = 0.0

    def send_and_receive(self, messages, timeout=None):
        from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage

        begin = time.process_time()
        answers = []
        for message in messages:
            stage = message.content.config_records[RECORD_KEY_CONFIGS][Key.STAGE]
            client = message.metadata.dst_node_id
            if stage == Stage.COLLECT_MASKED_VECTORS and client in self.vanished:
                continue
            answers.append(self.answer(message, client))
        self.seconds += time.process_time() - begin
        return answers

    def answer(self, message, client):
        from copy import deepcopy

        from flwr.client.mod import secaggplus_mod

        # Flower's client code changes the message, of which some parts belong to the server or to all clients.
        message = deepcopy(message)
        begin = time.process_time()
        answer = secaggplus_mod(message, self.contexts[client], self.train)
        if client not in self.vanished:
            self.client_seconds += time.process_time() - begin
        return answer

    def train(self, message, context):
        """Answers with an update without training."""
        import numpy
        from flwr.app import Message
        from flwr.common import Code, FitRes, Status, ndarrays_to_parameters
        from flwr.compat.common.recorddict_compat import fitres_to_recorddict

        update = ndarrays_to_parameters([numpy.full(self.values, VALUE, dtype=numpy.float32)])
        result = FitRes(Status(Code.OK, ""), update, 500, {})
        return Message(fitres_to_recorddict(result, keep_input=False), reply_to=message)


if __name__ == "__main__":
    main()
