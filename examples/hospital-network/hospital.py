#!/usr/bin/env python3
"""One of five hospitals that train a classifier of tumours together. See README.md.

FOLKMOOT_TOKEN=… python3 hospital.py SITE --coordinator https://127.0.0.1:8443 --ca ca.pem
"""

import argparse
import os
from pathlib import Path

import folkmoot
import numpy as np

SITES = ["north", "south", "east", "west", "centre"]
TABLE = Path(__file__).parents[1] / "tabular-silo" / "breast_cancer.csv"
ROUNDS = 10
HELD_OUT = 3  # One patient in HELD_OUT is never trained on.


def patients(site):
    """Returns this hospital's features and labels, 1 for benign. Its patients and its scanner differ from those of the others.

    The hospital in the south gets most of the large tumours, and that in the north few. Each scanner measures with an offset and a
    scale of its own.
    """
    table = np.loadtxt(TABLE, delimiter=",", skiprows=1)
    generator = np.random.default_rng(20240607)
    by_size = table[np.argsort(table[:, 3] + generator.normal(0.0, 600.0, len(table)))]
    parts = dict(zip(["north", "east", "centre", "west", "south"], np.split(by_size, [60, 150, 330, 470])))
    scales = {name: (generator.uniform(0.8, 1.25, 30), generator.normal(0.0, 0.3, 30)) for name in SITES}
    own = parts[site][np.random.default_rng(SITES.index(site)).permutation(len(parts[site]))]
    scale, offset = scales[site]
    return own[:, :-1] * scale + offset * table[:, :-1].std(0), own[:, -1]


def standardised(x, held_in):
    """Scales by the hospital's own means and deviations, which also removes the offset and the scale of its scanner."""
    return (x - x[held_in].mean(0)) / x[held_in].std(0)


def accuracy(client, x, y):
    """Returns the accuracy of the newest model on this machine."""
    return float(((client.predict(x)[:, 0] > 0) == (y > 0.5)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", choices=SITES)
    parser.add_argument("--coordinator", required=True)
    parser.add_argument("--ca", required=True)
    arguments = parser.parse_args()
    x, y = patients(arguments.site)
    held_out = np.arange(len(x)) % HELD_OUT == HELD_OUT - 1
    x = standardised(x, ~held_out)
    with folkmoot.Client(
        arguments.coordinator,
        state_directory=f"hospital-{arguments.site}",
        # Needed for the first start. On the command line, other users of the machine would see it.
        enrolment_token=os.environ.get("FOLKMOOT_TOKEN"),
        certificate=arguments.ca,
        # The hospital refuses to help with a sum of fewer than four, whatever the coordinator says.
        limits=folkmoot.Limits(cohort_min=4),
    ) as client:
        client.examples.add(x[~held_out], y[~held_out], labels="classes")
        client.on("round", lambda event: print(f"round {event.round_number}", flush=True))
        client.run(rounds=ROUNDS)
        print(
            f"{arguments.site}: {accuracy(client, x[held_out], y[held_out]):.3f} on {held_out.sum()} patients of its own"
        )


if __name__ == "__main__":
    main()
