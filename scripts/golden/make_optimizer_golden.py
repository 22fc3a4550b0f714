#!/usr/bin/env python3
"""Writes PyTorch's values of optimizers, schedules, clipping and loss scaling to tests/golden/*.json.

The committed files were made with PyTorch 1.13 on a CPU; the tests read the files only.
Usage: python3 scripts/golden/make_optimizer_golden.py tests/golden
"""

import json
import sys
from pathlib import Path

import torch

NUM_STEPS = 10
NUM_ELEMENTS = 11  # one vector of eight and a rest


def numbers(tensor):
    return [float(x) for x in tensor.detach().double().reshape(-1)]


def start_and_gradients():
    generator = torch.Generator().manual_seed(7)
    start = torch.randn(NUM_ELEMENTS, generator=generator)
    gradients = [torch.randn(NUM_ELEMENTS, generator=generator) * 10.0 ** -(i % 3) for i in range(NUM_STEPS)]
    gradients[4][3] = 0.0
    return start, gradients


def trajectory(make, start, gradients):
    weight = torch.nn.Parameter(start.clone())
    optimizer = make([weight])
    rows = []
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
        rows.append(numbers(weight))
    return rows


def optimizers():
    start, gradients = start_and_gradients()
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    cases = [
        ("sgd", {}, sgd, {"lr": 0.1}),
        ("sgd", {"weight_decay": 0.01}, sgd, {"lr": 0.1, "weight_decay": 0.01}),
        ("sgd", {"momentum": 0.9}, sgd, {"lr": 0.05, "momentum": 0.9}),
        ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.001}, sgd,
         {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.001}),
        ("adam", {}, adam, {"lr": 0.01}),
        ("adam", {"weight_decay": 0.1}, adam, {"lr": 0.01, "weight_decay": 0.1}),
        ("adam", {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6}, adam,
         {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-6}),
        ("adamw", {"weight_decay": 0.1}, adamw, {"lr": 0.01, "weight_decay": 0.1}),
        ("adamw", {"weight_decay": 0.0}, adamw, {"lr": 0.001, "weight_decay": 0.0}),
    ]
    return {
        "start": numbers(start),
        "gradients": [numbers(g) for g in gradients],
        "cases": [{"optimizer": name, "hyper": hyper, "lr": kwargs["lr"],
                   "weights": trajectory(lambda p, t=kind, k=kwargs: t(p, **k), start, gradients)}
                  for name, hyper, kind, kwargs in cases],
    }


def rates(make, count, base=0.1):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
    scheduler = make(optimizer)
    values = []
    for _ in range(count):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return values


def schedules():
    s = torch.optim.lr_scheduler
    length = 20
    warm = 5

    def cosine_after_warmup(optimizer):
        # Update k (from 1) of the warm-up uses k / warm; the peak is update `warm`.
        ramp = s.LinearLR(optimizer, start_factor=1 / warm, end_factor=1.0, total_iters=warm - 1)
        fall = s.CosineAnnealingLR(optimizer, T_max=length - warm)
        return s.SequentialLR(optimizer, [ramp, fall], milestones=[warm - 1])

    return [
        {"type": "constant", "rates": rates(lambda o: s.ConstantLR(o, factor=1.0), 5)},
        {"type": "step", "gamma": 0.1, "milestones": [3, 7, 8],
         "rates": rates(lambda o: s.MultiStepLR(o, [3, 7, 8], gamma=0.1), 12)},
        {"type": "cosine", "length": length, "min": 0.0,
         "rates": rates(lambda o: s.CosineAnnealingLR(o, T_max=length - 1), length)},
        {"type": "cosine", "length": length, "min": 0.01,
         "rates": rates(lambda o: s.CosineAnnealingLR(o, T_max=length - 1, eta_min=0.01), length)},
        {"type": "poly", "length": length, "power": 2.0,
         "rates": rates(lambda o: s.PolynomialLR(o, total_iters=length - 1, power=2.0), length + 2)},
        {"type": "linear", "length": length, "min": 0.02,
         "rates": rates(lambda o: s.LinearLR(o, 1.0, 0.2, total_iters=length - 1), length + 2)},
        {"type": "cosine", "length": length, "min": 0.0, "warmup": warm,
         "rates": rates(cosine_after_warmup, length)},
    ]


def clipping():
    start, gradients = start_and_gradients()
    cases = []
    for limit in (0.5, 1.0, 3.0, 100.0):
        for gradient in gradients[:3]:
            weight = torch.nn.Parameter(start.clone())
            weight.grad = gradient.clone()
            norm = torch.nn.utils.clip_grad_norm_([weight], limit)
            cases.append({"limit": limit, "gradient": numbers(gradient), "norm": float(norm),
                          "clipped": numbers(weight.grad)})
    return cases


def loss_scale(pattern, **kwargs):
    """The kernel GradScaler.update() calls, fed with found_inf flags; needs no GPU where it exists on CPUs."""
    scale = torch.tensor(kwargs["init"], dtype=torch.float32)
    tracker = torch.tensor(0, dtype=torch.int32)
    rows = []
    for flag in pattern:
        used = float(scale)
        try:
            torch._amp_update_scale_(scale, tracker, torch.tensor(float(flag)), kwargs["growth"],
                                     kwargs["backoff"], kwargs["interval"])
            source = "torch._amp_update_scale_"
        except (RuntimeError, NotImplementedError):
            source = "rule of torch.cuda.amp.GradScaler's documentation"
            if flag:
                scale = scale * kwargs["backoff"]
                tracker = torch.tensor(0, dtype=torch.int32)
            else:
                tracker = tracker + 1
                if int(tracker) == kwargs["interval"]:
                    if bool(torch.isfinite(scale * kwargs["growth"])):
                        scale = scale * kwargs["growth"]
                    tracker = torch.tensor(0, dtype=torch.int32)
        rows.append({"nonfinite": int(flag), "used": used, "next": float(scale), "tracker": int(tracker)})
    return {"source": source, **kwargs, "rows": rows}


def loss_scales():
    mixed = [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    return [
        loss_scale(mixed, init=65536.0, growth=2.0, backoff=0.5, interval=4),
        loss_scale(mixed, init=1000.0, growth=1.5, backoff=0.25, interval=3),
        loss_scale([0] * 8, init=2.0**126, growth=2.0, backoff=0.5, interval=2),
    ]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    files = {"optimizers": optimizers(), "schedules": schedules(), "clipping": clipping(),
             "loss_scales": loss_scales()}
    for name, value in files.items():
        text = json.dumps({"pytorch": torch.__version__, name: value}, separators=(",", ":"))
        (folder / f"torch_{name}.json").write_text(text.replace("},{", "},\n{") + "\n")


if __name__ == "__main__":
    main()
