#!/usr/bin/python3
"""Losses of mpt-train and of PyTorch, step by step: same initial weights, same batches in the same order, fp32,
SGD with momentum, no augmentation. Started by scripts/compare_losses.sh.

A third run says what rounding alone does to the curve: PyTorch in its other memory format, or with --exact in f64.
The curve must be one that can be compared: in a ResNet as usually initialised the gradient depends on which side of
zero millions of ReLU inputs fall, and PyTorch's own f32 is 1e-2 away from its f64 after a few steps. So blocks begin as
identity (zero_init_residual), and noise keeps the black background of Fashion-MNIST from falling as one.
"""
import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import numpy as np

import idx_files
import machine

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Case:
    name: str
    depth: int
    steps: int
    batch_size: int
    lr: float
    weight_decay: float
    bars: list  # (first steps, largest relative difference)


CASES = [
    Case("resnet20", 20, steps=50, batch_size=128, lr=0.02, weight_decay=5e-4, bars=[(10, 1e-4), (50, 5e-3)]),
    Case("resnet50", 50, steps=10, batch_size=32, lr=0.0001, weight_decay=1e-4, bars=[(10, 1e-4)]),
]

CONFIG = """
seed: 1
model: {{type: resnet, depth: {depth}, num_classes: 10}}
precision: {{mode: fp32}}
data:
  type: idx
  path: {data}
  shuffle: false
  eval_limit: {batch_size}
  augment: {{normalize: {{mean: [{mean}], std: [{std}]}}}}
train: {{steps: {steps}, batch_size: {batch_size}, log_every: 1, eval_every: never}}
optimizer: {{type: sgd, lr: {lr}, momentum: 0.9, weight_decay: {weight_decay}}}
checkpoint: {{every: never, best: none}}
log: {{console: plain}}
"""
MEAN, STD = 0.2860, 0.3530


def images_of(case):
    """(images, labels): Fashion-MNIST with noise; twice as large with a border, so 64x64, for ResNet-50."""
    images, labels = idx_files.fashion_mnist("train")
    count = case.steps * case.batch_size
    images, labels = images[:count].astype(int), labels[:count]
    if case.depth == 50:
        images = np.pad(images.repeat(2, 1).repeat(2, 2), ((0, 0), (4, 4), (4, 4), (0, 0)))
    noise = np.random.default_rng(1).integers(0, 64, images.shape)
    return np.clip(images + noise, 0, 255).astype(np.uint8), labels


def run(command, environment=None):
    result = machine.run(command, environment)
    if result.returncode != 0:
        last = (result.errors or result.output).strip().splitlines()[-1:]
        sys.exit(f"compare_losses: {command[0]}: exit {result.returncode}: {' '.join(last)}")
    return result


def torch_losses(case, folder, options, *how):
    result = run(["/usr/bin/python3", HERE / "train_losses.py", "--depth", case.depth, "--data", folder / "data",
                  "--mean", MEAN, "--std", STD, "--weights", folder / "init.safetensors",
                  "--steps", case.steps, "--batch-size", case.batch_size, "--lr", case.lr,
                  "--weight-decay", case.weight_decay, "--threads", options.threads, *how], machine.TUNED_MALLOC)
    line = json.loads(result.output.splitlines()[-1])
    return line["losses"], line["version"]


def our_losses(case, folder, options):
    config = folder / f"{case.name}.yaml"
    config.write_text(CONFIG.format(data=folder / "data", mean=MEAN, std=STD, **dataclasses.asdict(case)))
    run([options.program, "--config", config, "--output", folder / "run", "--threads", options.threads,
         "--init-from", folder / "init.safetensors"])
    rows = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if row["kind"] == "train"]


def compare(case, options):
    """Prints the table; returns whether every bar is met."""
    with tempfile.TemporaryDirectory(prefix="mpt-losses-") as name:
        folder = pathlib.Path(name)
        (folder / "data").mkdir()
        idx_files.write_set(folder / "data", *images_of(case))
        peer, version = torch_losses(case, folder, options, "--make")
        other, _ = torch_losses(case, folder, options, *(["--f64"] if options.exact else ["--layout", "nhwc"]))
        ours = our_losses(case, folder, options)
    if len(ours) != case.steps:
        sys.exit(f"compare_losses: {case.name}: {len(ours)} rows in metrics.jsonl, {case.steps} expected")

    def relative(losses):
        return [abs(a - b) / abs(b) for a, b in zip(losses, peer)]

    difference, rounding = relative(ours), relative(other)
    print(f"\n{case.name}, batch {case.batch_size}, lr {case.lr}, against PyTorch {version} (nchw)")
    print(f"  {'step':>4}{'PyTorch':>12}{'mpt-train':>12}{'difference':>12}{'PyTorch ' + ('f64' if options.exact else 'nhwc'):>14}")
    for step in range(case.steps):
        if step < 10 or (step + 1) % 5 == 0:
            print(f"  {step + 1:4}{peer[step]:12.6f}{ours[step]:12.6f}{difference[step]:12.1e}{rounding[step]:14.1e}")
    met = True
    for steps, bar in case.bars:
        worst, floor = max(difference[:steps]), max(rounding[:steps])
        met &= worst <= bar
        print(f"  first {steps} steps: largest difference {worst:.1e}, bar {bar:.0e}: "
              f"{'met' if worst <= bar else 'MISSED'} (PyTorch against itself {floor:.1e})")
    return met


def main():
    parser = argparse.ArgumentParser(prog="compare_losses.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--exact", action="store_true", help="take PyTorch in f64 as the third run (slow)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default=HERE.parents[1] / "build/app/mpt-train")
    options = parser.parse_args()
    met = [compare(case, options) for case in CASES if options.only in (None, case.name)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
