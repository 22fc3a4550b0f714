#!/usr/bin/env python3
"""Writes PyTorch's values and gradients of the ops of text models to tests/golden/torch_text_ops.json.

The committed file was made with PyTorch 1.13 on a CPU, in f64; the tests read the file only.
The loss of a gradient is the sum of the first output times `weights`.
Usage: python3 scripts/golden/make_text_op_golden.py tests/golden
"""

import json
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

generator = torch.Generator().manual_seed(11)


def random(*shape, scale=1.0):
    """Multiples of 1/64: exact in f32, and short."""
    return (torch.randn(*shape, generator=generator) * scale * 64).round().double() / 64


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{x:.10g}") for x in t.detach().reshape(-1).tolist()]}


def exact(t):
    return {"shape": list(t.shape), "values": t.reshape(-1).tolist()}


def case(function, inputs, integers=None):
    """inputs: differentiable tensors by name; integers: the others."""
    leaves = {name: t.clone().requires_grad_() for name, t in inputs.items()}
    outputs = function(**leaves, **(integers or {}))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    weights = random(*outputs[0].shape)
    (outputs[0] * weights).sum().backward()
    return {
        "inputs": {name: exact(t) for name, t in (inputs | (integers or {})).items()},
        "outputs": [tensor(t) for t in outputs],
        "weights": exact(weights),
        "gradients": {name: tensor(leaf.grad) for name, leaf in leaves.items()},
    }


def layer_norm(x, gain, bias):
    return F.layer_norm(x, x.shape[-1:], gain, bias, 1e-5)


def rms_norm(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain


def attention(q, k, v, lengths=None, causal=False):
    scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    if lengths is not None:
        hidden |= (torch.arange(k.shape[1]) >= lengths[:, None])[:, None, None, :]
    if causal:
        hidden |= torch.ones(scores.shape[-2:], dtype=torch.bool).triu(scores.shape[-1] - scores.shape[-2] + 1)
    scores = scores.masked_fill(hidden, -math.inf)
    return torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v), scores.logsumexp(-1)


def rope(x):
    """Pairs (i, i + D/2) as complex numbers, turned by position * 10000^(-2 i / D)."""
    half = x.shape[-1] // 2
    pairs = torch.complex(x[..., :half], x[..., half:])
    angles = torch.outer(torch.arange(x.shape[1]).double(), 10000 ** (-torch.arange(half).double() / half))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    return torch.cat([turned.real, turned.imag], -1)


def attention_inputs(queries, keys):
    return {"q": random(2, queries, 2, 8, scale=2), "k": random(2, keys, 2, 8), "v": random(2, keys, 2, 8)}


def main():
    ids = torch.tensor([[0, 4, 2, 4], [3, 2, 4, 1]])
    lengths = torch.tensor([5, 3])
    norm = {"x": random(3, 21, scale=2), "gain": 1 + random(21, scale=0.2)}
    x = {"x": random(37, scale=3)}
    cases = {
        "layer_norm": case(layer_norm, norm | {"bias": random(21)}),
        "rms_norm": case(rms_norm, norm),
        "gelu exact": case(lambda x: F.gelu(x), x),
        "gelu tanh": case(lambda x: F.gelu(x, approximate="tanh"), x),
        "silu": case(lambda x: F.silu(x), x),
        "embedding": case(lambda ids, table: F.embedding(ids, table, padding_idx=2) * (ids != 2)[..., None],
                          {"table": random(6, 5)}, {"ids": ids}),
        "attention": case(attention, attention_inputs(4, 7)),
        "attention causal": case(lambda **t: attention(**t, causal=True), attention_inputs(6, 6)),
        "attention padded": case(attention, attention_inputs(3, 5), {"lengths": lengths}),
        "attention causal padded": case(lambda **t: attention(**t, causal=True), attention_inputs(4, 5),
                                        {"lengths": lengths}),
        "rope": case(rope, {"x": random(2, 5, 2, 6)}),
    }
    path = Path(sys.argv[1]) / "torch_text_ops.json"
    path.write_text(json.dumps({"pytorch": torch.__version__, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
