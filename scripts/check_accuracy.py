#!/usr/bin/python3
"""Trains the Fashion-MNIST configs and compares test accuracy with its bars. Started by scripts/check_accuracy.sh."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = {"amp_fp16": "fashion_mnist_resnet20_amp.yaml", "amp_bf16": "fashion_mnist_resnet20_bf16.yaml",
           "fp32": "fashion_mnist_resnet20_fp32.yaml"}
BAR_ONE_EPOCH, BAR_FIVE_EPOCHS = 0.85, 0.91
BAR_SPREAD = 0.010  # between the modes' means over seeds


def train(mode, seed, epochs, output):
    """The summary row of the run."""
    directory = output / f"{mode}-{epochs}-epochs-seed-{seed}"
    command = [ROOT / "build/app/mpt-train", "--config", ROOT / "configs" / CONFIGS[mode], "--output", directory,
               "--overwrite", "--set", f"train.epochs={epochs}", "--set", f"seed={seed}",
               "--set", "log.console=quiet"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        last = (result.stderr or result.stdout).strip().splitlines()[-1:]
        sys.exit(f"check_accuracy: {directory.name}: exit {result.returncode}: {' '.join(last)}")
    row = json.loads((directory / "metrics.jsonl").read_text().splitlines()[-1])
    print(f"  {mode:9} {epochs} epoch{'s' if epochs > 1 else ' '} seed {seed}: top-1 {100 * row['top1']:.2f} %, "
          f"{row['images_per_sec_median']:.0f} images/s, {row['skipped']} updates skipped", flush=True)
    return row


def verdict(what, holds):
    print(f"  {what}: {'met' if holds else 'MISSED'}")
    return holds


def main():
    parser = argparse.ArgumentParser(prog="check_accuracy.sh", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--skip-five", action="store_true", help="leave the run of five epochs out")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "runs/accuracy")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    print("ResNet-20 on Fashion-MNIST")
    top1 = {mode: [] for mode in CONFIGS}
    for seed in options.seeds:
        for mode in CONFIGS:
            top1[mode].append(train(mode, seed, 1, options.output)["top1"])
    five = None if options.skip_five else train("amp_fp16", options.seeds[0], 5, options.output)["top1"]

    print(f"\n  {'top-1, one epoch':18}{'mean':>8}{'lowest':>8}{'highest':>8}")
    for mode, values in top1.items():
        print(f"  {mode:18}{100 * statistics.mean(values):8.2f}{100 * min(values):8.2f}{100 * max(values):8.2f}")
    means = [statistics.mean(values) for values in top1.values()]
    lowest, spread = min(min(values) for values in top1.values()), max(means) - min(means)
    held = [verdict(f"lowest {100 * lowest:.2f} %, bar {100 * BAR_ONE_EPOCH:.0f} %", lowest >= BAR_ONE_EPOCH),
            verdict(f"modes differ by {100 * spread:.2f} points, bar {100 * BAR_SPREAD:.1f}", spread <= BAR_SPREAD)]
    if five is not None:
        held.append(verdict(f"five epochs {100 * five:.2f} %, bar {100 * BAR_FIVE_EPOCHS:.0f} %", five >= BAR_FIVE_EPOCHS))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
