#!/usr/bin/env python3
"""Writes the tables of this folder: invented visits to three hospitals.

    python3 make_tables.py

Nobody's data went into them. The seed is fixed, so the files are always the same.
"""

import csv
import datetime
import math
import random
from pathlib import Path

SEED = 20260501
ROWS = 240
WARDS = {
    "public": ["cardiology", "surgery", "general"],
    "north": ["cardiology", "general"],
    "south": ["surgery", "general"],
    # The schema does not know the annex.
    "east": ["cardiology", "surgery", "annex"],
    "test": ["cardiology", "surgery", "general"],
}
COLUMNS = ["visit", "ward", "arrival", "admitted", "age", "pulse", "oxygen", "outcome"]


def outcome(chance, ward, arrival, age, pulse, oxygen):
    """Draws an outcome that depends on every column but the date."""
    risk = (age - 58) / 12 + (pulse - 84) / 13 + (94 - oxygen) / 2
    risk += {"ambulance": 1.6, "referral": 0.2, "walk-in": -1.2}[arrival]
    risk += {"cardiology": 0.9, "surgery": -0.9}.get(ward, 0.0)
    risk += chance.gauss(0, 0.7)
    return "home" if risk < 0.4 else "ward" if risk < 3.2 else "intensive care"


def gap(chance, share, value):
    """Leaves a field empty with this probability."""
    return chance.choice(["", "NA"]) if chance.random() < share else value


def row(chance, name, number):
    ward = chance.choice(WARDS[name])
    arrival = chance.choice(["ambulance", "referral", "walk-in"])
    day = datetime.date(2026, 1, 1) + datetime.timedelta(days=chance.randrange(120))
    age = min(97, max(18, round(chance.gauss(58, 16))))
    pulse = max(45, round(chance.gauss(84, 15)))
    oxygen = min(100, max(80, math.floor(chance.gauss(95, 3))))
    result = outcome(chance, ward, arrival, age, pulse, oxygen)
    visit = f"{name[0].upper()}{number:04}"
    measured = [age, gap(chance, 0.08, pulse), gap(chance, 0.05, oxygen)]
    return [visit, gap(chance, 0.03, ward), arrival, day.isoformat(), *measured, result]


def main():
    for name in WARDS:
        chance = random.Random(f"{SEED} {name}")
        with Path(__file__).with_name(f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows(row(chance, name, number) for number in range(1, ROWS + 1))


if __name__ == "__main__":
    main()
