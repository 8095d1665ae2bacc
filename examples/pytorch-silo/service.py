#!/usr/bin/env python3
"""A silo on an institution's own server, which systemd keeps running: see README.md."""

import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import folkmoot
import numpy as np
import torch
from folkmoot.torch import ModuleTrainer
from model import Picture
from torch.utils.data import TensorDataset

REFUSED = 3
HELD_OUT = 5  # One row in HELD_OUT is never trained on.


def read(path):
    """Returns the rows for training and the held-out rows of a CSV file without a header; the last number is the class."""
    table = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
    x, y = torch.from_numpy(table[:, :-1].copy()), torch.from_numpy(table[:, -1].astype(np.int64))
    held_out = torch.arange(len(x)) % HELD_OUT == 0
    return TensorDataset(x[~held_out], y[~held_out]), TensorDataset(x[held_out], y[held_out])


def token():
    """Returns the enrolment token, a credential of systemd. It may be empty after the first start."""
    return Path(os.environ["CREDENTIALS_DIRECTORY"], "enrolment-token").read_text(encoding="utf-8").strip() or None


def agrees(offer):
    """Logs what a task asks for, and accepts it. The institution's own rules belong here."""
    training = offer.plan["training"]
    logging.info("round %d of task %s: %s", offer.round_number, offer.task_id, json.dumps(training, sort_keys=True))
    return True


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    rows, held_out = read(os.environ["FOLKMOOT_DATA"])
    trainer = ModuleTrainer(
        Picture(),
        rows,
        torch.nn.functional.cross_entropy,
        lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
        held_out=held_out,
    )
    with folkmoot.Client(
        os.environ["FOLKMOOT_URL"],
        state_directory=Path(os.environ.get("STATE_DIRECTORY", "."), "client"),
        enrolment_token=token(),
        certificate=os.environ["FOLKMOOT_CA"],
        trainer=trainer,
        ask_before=agrees,
        limits=folkmoot.Limits(
            cohort_min=int(os.environ.get("FOLKMOOT_COHORT_MIN", "2")), training_seconds_max=4 * 3600
        ),
    ) as client:
        client.on("round", lambda event: logging.info("round %d has this update", event.round_number))
        client.start()
        while not stopped.wait(1.0):
            if not client.is_running:
                sys.exit(REFUSED)


if __name__ == "__main__":
    main()
