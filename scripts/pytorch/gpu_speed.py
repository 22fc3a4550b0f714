#!/usr/bin/env python3
"""Training steps of PyTorch as fast as they go on a GPU: compiled, automatic mixed precision, fused optimizers; ResNet-50
in channels last with cuDNN's algorithms timed, GPT-2 124M with fused attention. Prints precision and images/s or tokens/s.
"""
import argparse
import time

import torch
import torchvision
from torch.nn import functional

from text_networks import Gpt
from train_speed_text import GPT2

SMALL_GPT = {"depth": 2, "width": 64, "heads": 2, "vocabulary": 512}


def resnet50(options):
    """(optimizer, norm to clip gradients to, items in a step, function that computes the loss)."""
    network = torchvision.models.resnet50().to(options.device, memory_format=torch.channels_last).train()
    images = torch.randn(options.batch_size, 3, 224, 224, device=options.device)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (options.batch_size,), device=options.device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)
    return optimizer, None, options.batch_size, lambda: functional.cross_entropy(network(images), labels)


def gpt2_124m(options):
    """As configs/gpt2_124m_amp.yaml: only matrices decay, the norm of the gradients is clipped to 1."""
    sizes, context = (SMALL_GPT, 32) if options.small else (GPT2, 1024)
    network = Gpt(**sizes, context=context).to(options.device).train()
    num_tokens = min(sizes["vocabulary"], 50257)
    data = torch.randint(num_tokens, (options.batch_size, context + 1), device=options.device)
    inputs, targets = data[:, :-1].contiguous(), data[:, 1:].flatten()
    groups = [{"params": [p for p in network.parameters() if p.dim() > 1]},
              {"params": [p for p in network.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    return optimizer, 1.0, inputs.numel(), lambda: functional.cross_entropy(network(inputs).flatten(0, 1), targets)


class Training:
    def __init__(self, options):
        make = resnet50 if options.network == "resnet50" else gpt2_124m
        self.optimizer, self.clip_norm, self.items, loss = make(options)
        # On a CPU the compiler takes minutes for a ResNet-50.
        self.loss = torch.compile(loss) if options.device == "cuda" or options.small else loss
        self.device = options.device
        self.dtype = torch.float16 if options.precision == "amp_fp16" else torch.bfloat16
        self.scaler = torch.amp.GradScaler(self.device, enabled=self.dtype == torch.float16)

    def update(self):
        with torch.autocast(self.device, self.dtype):
            loss = self.loss()
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        if self.clip_norm is not None:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_([p for group in self.optimizer.param_groups for p in group["params"]],
                                           self.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def seconds_of(self, updates):
        begin = time.perf_counter()
        for _ in range(updates):
            self.update()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["resnet50", "gpt2_124m"], default="resnet50")
    parser.add_argument("--precision", choices=["amp_fp16", "amp_bf16"],
                        help="default: amp_fp16, for GPT-2 amp_bf16 where the GPU has Tensor Cores for it; CPU: amp_bf16")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--small", action="store_true", help="a small GPT in the place of GPT-2")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=50, help="0 compiles only: what is compiled is kept on disk")
    parser.add_argument("--seconds", type=float, default=10, help="fewer steps, at least 3, where they take longer")
    options = parser.parse_args()

    if options.precision is None:
        has_bf16 = options.device == "cpu" or torch.cuda.get_device_capability() >= (8, 0)
        wants_bf16 = options.device == "cpu" or options.network == "gpt2_124m"
        options.precision = "amp_bf16" if has_bf16 and wants_bf16 else "amp_fp16"
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    training = Training(options)
    training.seconds_of(1)
    if options.steps == 0:
        return
    if options.device == "cuda":
        training.seconds_of(9)
    steps = min(options.steps, max(3, int(options.seconds / training.seconds_of(1))))
    print(f"{options.precision} {training.items * steps / training.seconds_of(steps):.1f}")


if __name__ == "__main__":
    main()
