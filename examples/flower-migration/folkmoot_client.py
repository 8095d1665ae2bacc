#!/usr/bin/env python3
"""The same client in Folkmoot's rounds.

FOLKMOOT_TOKEN=… python3 folkmoot_client.py NUMBER https://127.0.0.1:8443 ca.pem
"""

import os
import sys

import folkmoot
from flower_client import TumourClient
from folkmoot.flower import FlowerTrainer

number, coordinator, certificate = sys.argv[1:]
trainer = FlowerTrainer(TumourClient(int(number)), config={"local_steps": 20})
with folkmoot.Client(
    coordinator,
    state_directory=f"flower-{number}",
    # Needed for the first start. On the command line, other users of the machine would see it.
    enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
    certificate=certificate,
    trainer=trainer,
) as client:
    client.on("round", lambda event: print(f"round {event.round_number}", flush=True))
    client.run(rounds=10)
