#!/usr/bin/env python3
"""Largest relative difference of the training losses of two runs, update by update: compare_runs.py RUN RUN BAR
RUN is a run's folder. Both must have the same updates, and have skipped as many of them, or one more: what overflows just
so on one device may not on the other. Exit 1 beyond BAR."""
import json
import pathlib
import sys


def rows(run):
    lines = (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "train"]


first, second, bar = rows(sys.argv[1]), rows(sys.argv[2]), float(sys.argv[3])
if not first or [row["step"] for row in first] != [row["step"] for row in second]:
    sys.exit("the runs log other updates")
skipped = [run[-1]["skipped"] for run in (first, second)]
if abs(skipped[0] - skipped[1]) > 1:
    sys.exit(f"one run skipped {skipped[0]} updates, the other {skipped[1]}")
# A loss that is not a number is null.
differences = [
    abs(a["loss"] - b["loss"]) / abs(b["loss"]) if None not in (a["loss"], b["loss"]) else float("inf")
    for a, b in zip(first, second)
]
print(f"{max(differences):.1e} over {len(first)} updates, {skipped[0]} of them skipped (bar {bar:.0e})")
sys.exit(max(differences) > bar)
