#!/usr/bin/env python3
"""ResNet-50 in PyTorch as fast as it goes on a GPU: channels last, automatic mixed precision, compiled; prints images/s."""
import argparse
import time

import torch
import torchvision


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()

    on_gpu = options.device == "cuda"
    network = torchvision.models.resnet50().to(options.device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    compiled = torch.compile(network) if on_gpu and hasattr(torch, "compile") else network
    images = torch.randn(options.batch_size, 3, 224, 224, device=options.device)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (options.batch_size,), device=options.device)
    scaler = torch.cuda.amp.GradScaler(enabled=on_gpu)

    def update():
        with torch.autocast(options.device, torch.float16 if on_gpu else torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(compiled(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    def finish():
        if on_gpu:
            torch.cuda.synchronize()

    for _ in range(10 if on_gpu else 1):
        update()
    finish()
    begin = time.perf_counter()
    for _ in range(options.steps):
        update()
    finish()
    print(f"{options.batch_size * options.steps / (time.perf_counter() - begin):.1f}")


if __name__ == "__main__":
    main()
