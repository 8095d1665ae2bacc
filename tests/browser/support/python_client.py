"""A client that trains on the digits until it is killed: `python_client.py COORDINATOR TOKEN STATE DIGITS`."""

import sys

import folkmoot

coordinator, token, state, digits = sys.argv[1:]
with open(digits) as file:
    rows = [[float(number) for number in line.split(",")] for line in file]
with folkmoot.Client(coordinator, state_directory=state, enrolment_token=token, device="cpu", wait_seconds=1) as client:
    client.examples.add([row[:64] for row in rows], [int(row[64]) for row in rows])
    client.on("round", lambda event: print("round", event.round_number, flush=True))
    client.run()
