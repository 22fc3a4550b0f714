#!/usr/bin/env python3
"""Writes PyTorch's logits, losses and gradients of small Transformers to tests/golden/torch_{gpt,transformer}.json.

The committed files were made with PyTorch 1.13 on a CPU, in f64; the tests read the files only. Names and
shapes of weights are those of Hugging Face's GPT-2 and of torch.nn.Transformer; their values, and the
gradient of the logits, are a function of name and index (golden_number, also in tests/support/model_run.h).
Of each gradient the files hold the norm, the product with golden_number and the first values; of those of the
loss (a sum over tokens, smoothed by 0.1, one token ignored) the norm. "training" are the losses of 20 steps.
Usage: python3 scripts/golden/make_model_golden.py tests/golden
"""

import json
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

NUM_FIRST = 3
torch.set_default_dtype(torch.float64)


def golden_number(name, count):
    h = 17
    for c in name.encode():
        h = (h * 31 + c) & 0xFFFFFFFF
    values = []
    for i in range(count):
        x = (i * 2654435761 + h * 40503 + 1) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 2246822519) & 0xFFFFFFFF
        x = ((x ^ (x >> 13)) * 3266489917) & 0xFFFFFFFF
        x ^= x >> 16
        values.append(((x >> 8) * 2 - (1 << 24) + 1) / (1 << 24))
    return values


def numbers(name, shape):
    return torch.tensor(golden_number(name, math.prod(shape))).reshape(tuple(shape))


def weight(name, shape):
    """As stored in f32."""
    x = numbers(name, shape)
    gain = ("ln_" in name or "norm" in name) and name.endswith(".weight")
    x = 1 + 0.25 * x if gain else 0.25 * x
    return x.float().double()


def short(values):
    return [float(f"{v:.10g}") for v in values]


def tokens(name, vocabulary, *shape):
    return ((numbers(name, shape) + 1) / 2 * vocabulary).long().clamp(0, vocabulary - 1)


def training(forward, weights, targets):
    """Mean losses of 20 steps of AdamW on one batch: decay on matrices, gradients clipped to a norm of 1."""
    matrices = [leaf for leaf in weights.values() if leaf.dim() > 1]
    others = [leaf for leaf in weights.values() if leaf.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.002, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for _ in range(20):
        logits = forward()
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets, ignore_index=-1)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
    return short(losses)


def results(forward, weights):
    """`weights`: leaves by name. forward() gives logits [B,T,V]."""
    logits = forward()
    flat = logits.reshape(-1, logits.shape[-1])
    targets = tokens("targets", flat.shape[1], flat.shape[0])
    targets[3] = -1
    loss = F.cross_entropy(flat, targets, ignore_index=-1, label_smoothing=0.1, reduction="sum")
    loss.backward(retain_graph=True)
    norms = {name: short([leaf.grad.norm().item()])[0] for name, leaf in weights.items()}
    for leaf in weights.values():
        leaf.grad = None
    (flat * numbers("seed", flat.shape)).sum().backward()
    gradients = {}
    for name, leaf in weights.items():
        g = leaf.grad.reshape(-1)
        along = (g * numbers(name, g.shape)).sum().item()
        gradients[name] = short([g.norm().item(), along] + g[:NUM_FIRST].tolist())
    logits_before = [short(row) for row in flat.tolist()]
    return {
        "shapes": {name: list(leaf.shape) for name, leaf in weights.items()},
        "targets": targets.tolist(),
        "loss": short([loss.item()])[0],
        "loss_norms": norms,
        "logits": logits_before,
        "training": training(forward, weights, targets),
        "gradients": gradients,
    }


class Gpt:
    """GPT-2 as a function of its weights; Conv1D matrices are [in, out]."""

    def __init__(self, depth, width, heads, vocabulary, context, positions, norm, activation, bias, tied):
        self.config = dict(
            depth=depth, width=width, heads=heads, vocabulary=vocabulary, context=context,
            positions=positions, norm=norm, activation=activation, bias=bias, tied=tied,
        )  # fmt: skip
        self.depth, self.heads = depth, heads
        self.positions, self.norm, self.activation, self.tied = positions, norm, activation, tied
        inner = 4 * width if activation != "swiglu" else (8 * width // 3 + 63) // 64 * 64
        shapes = {"wte.weight": (vocabulary, width)}
        if positions == "learned":
            shapes["wpe.weight"] = (context, width)

        def conv1d(name, inputs, outputs):
            shapes[name + ".weight"] = (inputs, outputs)
            if bias:
                shapes[name + ".bias"] = (outputs,)

        def norm_of(name):
            shapes[name + ".weight"] = (width,)
            if bias and norm == "layer_norm":
                shapes[name + ".bias"] = (width,)

        for i in range(depth):
            norm_of(f"h.{i}.ln_1")
            conv1d(f"h.{i}.attn.c_attn", width, 3 * width)
            conv1d(f"h.{i}.attn.c_proj", width, width)
            norm_of(f"h.{i}.ln_2")
            conv1d(f"h.{i}.mlp.c_fc", width, inner)
            if activation == "swiglu":
                conv1d(f"h.{i}.mlp.c_gate", width, inner)
            conv1d(f"h.{i}.mlp.c_proj", inner, width)
        norm_of("ln_f")
        if not tied:
            shapes["lm_head.weight"] = (vocabulary, width)
        self.weights = {name: weight(name, shape).requires_grad_() for name, shape in shapes.items()}

    def linear(self, x, name):
        y = x @ self.weights[name + ".weight"]
        return y + self.weights[name + ".bias"] if name + ".bias" in self.weights else y

    def normed(self, x, name):
        gain = self.weights[name + ".weight"]
        if self.norm == "layer_norm":
            return F.layer_norm(x, gain.shape, gain, self.weights.get(name + ".bias"), 1e-5)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain

    def turned(self, x):
        """x [B,T,H,D]: rotary positions on the two halves of a head."""
        half = x.shape[-1] // 2
        angle = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        cosine, sine = torch.cos(angle)[:, None, :], torch.sin(angle)[:, None, :]
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)

    def attend(self, x, name):
        batch, length, width = x.shape
        q, k, v = (
            part.reshape(batch, length, self.heads, -1) for part in self.linear(x, name).split(width, -1)
        )
        if self.positions == "rotary":
            q, k = self.turned(q), self.turned(k)
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        future = torch.ones(length, length).triu(1).bool()
        p = scores.masked_fill(future, -math.inf).softmax(-1)
        return torch.einsum("bhts,bshd->bthd", p, v).reshape(batch, length, width)

    def fed_forward(self, x, name):
        y = self.linear(x, name + ".c_fc")
        if self.activation == "swiglu":
            return F.silu(self.linear(x, name + ".c_gate")) * y
        if self.activation == "gelu_tanh":
            return 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        return F.gelu(y)

    def __call__(self, ids):
        x = self.weights["wte.weight"][ids]
        if self.positions == "learned":
            x = x + self.weights["wpe.weight"][: ids.shape[1]]
        for i in range(self.depth):
            h = f"h.{i}."
            x = x + self.linear(self.attend(self.normed(x, h + "ln_1"), h + "attn.c_attn"), h + "attn.c_proj")
            x = x + self.linear(self.fed_forward(self.normed(x, h + "ln_2"), h + "mlp"), h + "mlp.c_proj")
        return self.normed(x, "ln_f") @ self.weights["wte.weight" if self.tied else "lm_head.weight"].T


def gpt_cases():
    for config in [
        (2, 16, 2, 11, 9, "learned", "layer_norm", "gelu_tanh", True, True),
        (2, 12, 3, 11, 9, "rotary", "rms_norm", "swiglu", False, False),
        (1, 16, 4, 70, 7, "learned", "layer_norm", "gelu", False, True),
    ]:
        model = Gpt(*config)
        ids = tokens("tokens", model.config["vocabulary"], 2, 7)
        yield {"config": model.config, "tokens": ids.tolist()} | results(lambda: model(ids), model.weights)


def sinusoids(length, width):
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.stack([torch.sin(angle), torch.cos(angle)], -1).reshape(length, width)


def transformer_case(width, heads, depths, inner, vocabularies, pre_norm, final_norm, activation, shared, tied):
    layer = dict(dropout=0.0, activation=activation, batch_first=True, norm_first=pre_norm)
    with_norm = pre_norm or final_norm
    model = nn.Transformer(
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, inner, **layer),
            depths[0],
            nn.LayerNorm(width) if with_norm else None,
        ),
        custom_decoder=nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, inner, **layer),
            depths[1],
            nn.LayerNorm(width) if with_norm else None,
        ),
        d_model=width,
        nhead=heads,
        batch_first=True,
    )
    leaves = dict(model.named_parameters())
    if shared:
        leaves["embedding.weight"] = nn.Parameter(torch.empty(vocabularies[0], width))
        source_table = target_table = leaves["embedding.weight"]
    else:
        source_table = leaves["source_embedding.weight"] = nn.Parameter(torch.empty(vocabularies[0], width))
        target_table = leaves["target_embedding.weight"] = nn.Parameter(torch.empty(vocabularies[1], width))
    if not tied:
        leaves["output.weight"] = nn.Parameter(torch.empty(vocabularies[1], width))
    with torch.no_grad():
        for name, leaf in leaves.items():
            leaf.copy_(weight(name, leaf.shape))

    source, target = tokens("source", vocabularies[0], 3, 6), tokens("target", vocabularies[1], 3, 5)
    lengths = torch.tensor([6, 2, 4])
    padding = torch.arange(6)[None, :] >= lengths[:, None]
    future = torch.ones(5, 5).triu(1).bool()

    def forward():
        memory = source_table[source] * math.sqrt(width) + sinusoids(6, width)
        hidden = target_table[target] * math.sqrt(width) + sinusoids(5, width)
        hidden = model(
            memory, hidden, tgt_mask=future, src_key_padding_mask=padding, memory_key_padding_mask=padding
        )
        return hidden @ (target_table if tied else leaves["output.weight"]).T

    config = dict(
        width=width, heads=heads, encoder_depth=depths[0], decoder_depth=depths[1], ffn_width=inner,
        source_vocabulary=vocabularies[0], target_vocabulary=vocabularies[1], pre_norm=pre_norm,
        final_norm=final_norm, activation=activation, shared=shared, tied=tied,
    )  # fmt: skip
    inputs = {"source": source.tolist(), "target": target.tolist(), "lengths": lengths.tolist()}
    return {"config": config} | inputs | results(forward, leaves)


def transformer_cases():
    yield transformer_case(16, 2, (2, 2), 24, (13, 13), False, False, "relu", True, True)
    yield transformer_case(12, 3, (1, 2), 20, (70, 13), True, False, "gelu", False, True)
    yield transformer_case(32, 2, (2, 1), 40, (13, 11), False, True, "relu", False, False)


def main():
    folder = Path(sys.argv[1])
    for name, cases in [("torch_gpt", gpt_cases()), ("torch_transformer", transformer_cases())]:
        with open(folder / f"{name}.json", "w") as file:
            json.dump({"cases": list(cases)}, file, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
