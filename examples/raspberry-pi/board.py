#!/usr/bin/env python3
"""A client for a small board, which systemd keeps running: see README.md."""

import csv
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import folkmoot

REFUSED = 3
HOT_DEGREES = 75.0
"""A Raspberry Pi slows its processor down from 80 °C on."""
LIMITS = folkmoot.Limits(bytes_per_day=200_000_000, training_seconds_per_day=4 * 3600, memory_bytes_max=256_000_000)
"""Less memory than the MemoryMax of the unit, so that the client declines a large model before systemd ends the process."""


def examples(path):
    """Reads rows of numbers; the last number of a row is the class."""
    with open(path, newline="") as file:
        rows = [[float(value) for value in row] for row in csv.reader(file)]
    return [row[:-1] for row in rows], [int(row[-1]) for row in rows]


def conditions(sensor):
    """Returns the conditions of the board; the temperature is unknown if it has no such sensor."""
    try:
        is_hot = int(sensor.read_text()) / 1000 >= HOT_DEGREES
    except (OSError, ValueError):
        return folkmoot.DeviceConditions()
    return folkmoot.DeviceConditions(thermal=folkmoot.Thermal.SERIOUS if is_hot else folkmoot.Thermal.NOMINAL)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    sensor = Path(os.environ.get("FOLKMOOT_SENSOR", "/sys/class/thermal/thermal_zone0/temp"))
    with folkmoot.Client(
        os.environ["FOLKMOOT_URL"],
        state_directory=os.path.join(os.environ.get("STATE_DIRECTORY", "."), "client"),
        enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
        certificate=os.environ["FOLKMOOT_CA"],
        attributes={"board": os.uname().machine},
        device="cpu",
        limits=LIMITS,
    ) as client:
        client.examples.add(*examples(os.environ["FOLKMOOT_DATA"]))
        client.on("round", lambda event: logging.info("round %d has this update", event.round_number))
        client.on("paused", lambda event: logging.info("paused: %s", event.reason))
        client.on("resumed", lambda _: logging.info("resumed"))
        client.set_conditions(conditions(sensor))
        client.start()
        while not stopped.wait(1.0):
            client.set_conditions(conditions(sensor))
            if not client.is_running:
                sys.exit(REFUSED)


if __name__ == "__main__":
    main()
