#!/usr/bin/env python3
"""Writes what torchvision's MixUp and CutMix make of a small batch to tests/golden/mixing.json.

Needs a torchvision with transforms.v2.MixUp (0.16 or later), for example that of scripts/compare_pytorch.sh --pypi:
    ~/.cache/mpt-train/torch-pypi/bin/python scripts/golden/make_mixing_golden.py tests/golden
"""
import json
import pathlib
import sys
from unittest import mock

import torch
import torchvision
from torchvision.transforms import v2

BATCH, HEIGHT, WIDTH, CLASSES = 4, 9, 12, 3


def batch():
    """The tests make the same one."""
    n, c, y, x = torch.meshgrid(*(torch.arange(k) for k in (BATCH, 3, HEIGHT, WIDTH)), indexing="ij")
    return ((n * 67 + y * y * 13 + x * 29 + x * y * 7 + c * 101) % 256).float(), torch.tensor([2, 0, 0, 1])


def mixed(transform, share, place):
    """With `share` for what is drawn from Beta, and `place` (x, y) for the middle of the box."""
    images, labels = batch()
    places = iter(place)
    with mock.patch.object(transform, "_dist") as dist, \
            mock.patch("torch.randint", lambda *_, **__: torch.tensor([next(places)])):
        dist.sample.return_value = torch.tensor(share, dtype=torch.float64)
        out, targets = transform(images, labels)
    return {"share": share, "place": place, "pixels": out.permute(0, 2, 3, 1).flatten().tolist(),
            "targets": targets.flatten().tolist()}


def main():
    target = pathlib.Path(sys.argv[1]) / "mixing.json"
    mixup, cutmix = v2.MixUp(num_classes=CLASSES), v2.CutMix(num_classes=CLASSES)
    golden = {"made_by": f"torchvision {torchvision.__version__}",
              "mixup": [mixed(mixup, share, (0, 0)) for share in (0.25, 0.8)],
              "cutmix": [mixed(cutmix, share, place)
                         for share, place in ((0.3, (5, 4)), (0.6, (11, 0)), (0.9, (0, 8)), (0.05, (7, 3)), (0.999, (3, 3)))]}
    target.write_text(json.dumps(golden) + "\n")
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
