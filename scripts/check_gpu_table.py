#!/usr/bin/env python3
"""The table that scripts/check_gpu.sh ends with: check_gpu_table.py RESULTS FORECASTS
RESULTS has a line `run<TAB>precision<TAB>rate<TAB>unit` for each training; FORECASTS is a folder of
`mpt-train plan --json` files, RUN.json. MFU and the share of the roofline are the forecast's, by the ratio of
the rates; published is the fastest published rate of that network, precision and GPU; PyTorch is the ratio to the row
of the same run and precision that is called `RUN, PyTorch`."""
import json
import pathlib
import sys

results, forecasts = map(pathlib.Path, sys.argv[1:])
HEADER = ("run", "precision", "rate", "", "MFU", "roofline", "forecast", "published", "PyTorch")
WIDTHS = (24, 18, 10, 10, 7, 9, 9, 11, 11)


def line(cells):
    left = "".join(str(cell).ljust(width) for cell, width in zip(cells[:2], WIDTHS))
    return left + "".join(str(cell).rjust(width) for cell, width in zip(cells[2:], WIDTHS[2:]))


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def judged(run, precision, rate):
    """MFU, share of the roofline, of our forecast with fused kernels, and of the fastest published rate."""
    path = forecasts / f"{run}.json"
    if not path.exists() or not path.read_text().strip():
        return (None,) * 4
    plan = json.loads(path.read_text())
    fused = next((f for f in plan["forecast"]
                  if f["precision"] == precision and f["kernels"] == "fused" and "per_second" in f), None)
    model = "resnet50" if run.startswith("resnet50") else "gpt2_124m"
    published = [row["published"] for row in plan["calibration"]["rows"]
                 if row["model"] == model and row["precision"] == precision and row["gpu"] in plan["device"]]
    share = rate / fused["per_second"] if fused else None
    return (share and share * fused["mfu"], share and share * fused["roofline_share"], share,
            rate / max(published) if published else None)


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


rows = [text.split("\t") for text in results.read_text().splitlines()]
peers = {(run, precision): number(rate) for run, precision, rate, _ in rows if run.endswith(", PyTorch")}
print(line(HEADER))
for run, precision, rate, unit in rows:
    value = number(rate)
    if value is None:
        print(line((run, precision)) + "  " + rate)
        continue
    peer = peers.get((f"{run}, PyTorch", precision))
    print(line((run, precision, f"{value:.1f}", unit, *map(percent, judged(run, precision, value)),
                f"{value / peer:.2f} x" if peer else "-")))
