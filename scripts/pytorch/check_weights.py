#!/usr/bin/python3
"""PyTorch loads our checkpoints: every name and shape (strictly), and the network it makes of them has the loss
and accuracy that mpt-train reports. And the other way round: weights written here start a run of ours.

    scripts/pytorch/check_weights.py [--program build/app/mpt-train]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn import functional

import idx_files
import networks
import safetensors_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES, SAMPLES = 7, 8
CONFIG = """
model: {{type: resnet, depth: {depth}, num_classes: 7}}
data: {{type: idx, path: {data}, shuffle: false, augment: {{normalize: {{mean: 0.4, std: 0.3}}}}}}
train: {{steps: {steps}, batch_size: 4, log_every: 1}}
optimizer: {{type: sgd, lr: {lr}, momentum: 0.9}}
log: {{console: quiet}}
"""


def run(program, folder, name, depth, steps, lr, *options):
    config = folder / f"{name}.yaml"
    config.write_text(CONFIG.format(depth=depth, data=folder / f"data{depth}", steps=steps, lr=lr))
    subprocess.run([program, "--config", config, "--output", folder / name, *options], check=True)
    rows = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
    return rows[-1]


def evaluate(network, images, labels):
    pixels = (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - 0.4) / 0.3
    with torch.no_grad():
        logits = network.eval()(pixels)
    target = torch.from_numpy(labels.astype(np.int64))
    return functional.cross_entropy(logits, target).item(), (logits.argmax(1) == target).float().mean().item()


def compare(what, ours, theirs):
    loss, top1 = theirs
    good = abs(ours["loss"] - loss) <= 1e-4 * abs(loss) and ours["top1"] == top1
    print(f"{what}: loss {ours['loss']:.6f} here, {loss:.6f} in PyTorch; top1 {ours['top1']:.3f} and {top1:.3f}"
          f" -> {'equal' if good else 'DIFFERENT'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=ROOT / "build/app/mpt-train")
    program = parser.parse_args().program
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    good = True
    with tempfile.TemporaryDirectory(prefix="mpt-weights-") as scratch:
        folder = pathlib.Path(scratch)
        for depth, side in ((20, 12), (18, 32), (50, 32)):
            images = random.integers(0, 256, (SAMPLES, side, side, 1), np.uint8)
            labels = random.integers(0, CLASSES, SAMPLES).astype(np.uint8)
            (folder / f"data{depth}").mkdir()
            idx_files.write_set(folder / f"data{depth}", images, labels)

            ours = run(program, folder, f"ours{depth}", depth, 2, 0.01)
            weights = safetensors_file.read(pathlib.Path(ours["checkpoint"]) / "weights.safetensors")
            network = networks.resnet(depth, 1, CLASSES)
            network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, strict=True)
            good &= compare(f"resnet {depth}, our weights", ours, evaluate(network, images, labels))

            network = networks.resnet(depth, 1, CLASSES)
            network.train()(torch.randn(4, 1, side, side))  # running statistics that are not the initial ones
            state = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
            safetensors_file.write(folder / "theirs.safetensors", state)
            evaluated = subprocess.run(
                [program, "eval", "--config", folder / f"ours{depth}.yaml", "--checkpoint", folder / "theirs.safetensors"],
                check=True, capture_output=True, text=True).stdout.split()
            theirs = {"top1": round(float(evaluated[evaluated.index("top1") + 1]) / 100, 4), "loss": float(evaluated[evaluated.index("loss") + 1])}
            good &= compare(f"resnet {depth}, PyTorch's weights", theirs, evaluate(network, images, labels))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
