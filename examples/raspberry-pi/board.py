#!/usr/bin/env python3
"""A client for a small board, which systemd keeps running: see README.md."""

import csv
import logging
import os
import signal
import sys
import threading

import folkmoot

REFUSED = 3


def examples(path):
    """Reads rows of numbers; the last number of a row is the class."""
    with open(path, newline="") as file:
        rows = [[float(value) for value in row] for row in csv.reader(file)]
    return [row[:-1] for row in rows], [int(row[-1]) for row in rows]


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with folkmoot.Client(
        os.environ["FOLKMOOT_URL"],
        state_directory=os.path.join(os.environ.get("STATE_DIRECTORY", "."), "client"),
        enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
        certificate=os.environ["FOLKMOOT_CA"],
        attributes={"board": os.uname().machine},
        device="cpu",
    ) as client:
        client.examples.add(*examples(os.environ["FOLKMOOT_DATA"]))
        client.on("round", lambda event: logging.info("round %d has this update", event.round_number))
        client.start()
        while not stopped.wait(1.0):
            if not client.is_running:
                sys.exit(REFUSED)


if __name__ == "__main__":
    main()
