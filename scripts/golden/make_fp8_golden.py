#!/usr/bin/python3
"""Writes tests/golden/torch_fp8.json: PyTorch's float8_e4m3fn and float8_e5m2, as decoded and as rounded to.

    python3 scripts/golden/make_fp8_golden.py        (PyTorch 2.1 or later)

Inputs are bits of f32: every number of the format, the middle between it and the next, the neighbours of both, and
numbers drawn over the whole range and beyond. PyTorch does not saturate: inputs are clamped before.
"""
import json
import pathlib
import random
import struct

import torch

FORMATS = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def inputs_of(decoded, greatest):
    numbers = sorted({v for v in decoded if v == v and 0 <= v <= greatest})
    points = numbers + [(a + b) / 2 for a, b in zip(numbers, numbers[1:])] + [greatest * 1.01, greatest * 1.07, 1e30]
    bits = {b for p in points for b in (bits_of(p) - 1, bits_of(p), bits_of(p) + 1) if b >= 0}
    draw = random.Random(8)
    for _ in range(300):
        bits.add(bits_of(draw.uniform(1, 2) * 2.0 ** draw.randint(-24, 18)))
    return sorted(bits | {b | 0x80000000 for b in list(bits)[::3]})


def main():
    out = {}
    for name, (dtype, greatest) in FORMATS.items():
        codes = torch.arange(256, dtype=torch.int16).to(torch.uint8)
        decoded = codes.view(dtype).to(torch.float32)
        inputs = inputs_of([float(v) for v in decoded], greatest)
        signed = torch.tensor([b - (1 << 32) if b >> 31 else b for b in inputs], dtype=torch.int32)
        rounded = signed.view(torch.float32).clamp(-greatest, greatest).to(dtype).view(torch.uint8)
        out[name] = {
            "values": [None if v != v or abs(v) == float("inf") else float(v) for v in decoded],
            "inputs": inputs,
            "rounded": rounded.tolist(),
        }
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "torch_fp8.json"
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
