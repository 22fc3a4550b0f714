#!/usr/bin/python3
"""Full training steps of PyTorch (forward, backward, SGD with momentum), timed one by one; prints one JSON line."""
import argparse
import json
import time

import torch
from torch import nn

import idx_files
from networks import in_layout, memory_format, resnet


def batches(workload, batch_size):
    """Yields (images [N,C,H,W] f32, labels) for ever."""
    if workload == "resnet50":
        images, labels = torch.randn(batch_size, 3, 224, 224), torch.randint(0, 1000, (batch_size,))
        while True:
            yield images, labels
    pixels, classes = (torch.from_numpy(a.copy()) for a in idx_files.fashion_mnist("train"))
    images = (pixels.permute(0, 3, 1, 2).float() / 255 - 0.2860) / 0.3530
    labels = classes.long()
    while True:
        order = torch.randperm(len(images))
        for start in range(0, len(images) - batch_size + 1, batch_size):
            chosen = order[start:start + batch_size]
            yield images[chosen], labels[chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=["resnet50", "resnet20"], required=True)
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    depth, channels, classes = (50, 3, 1000) if options.workload == "resnet50" else (20, 1, 10)
    network = resnet(depth, channels, classes).to(memory_format=memory_format(options.layout)).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()

    source, seconds = batches(options.workload, options.batch_size), []
    for step in range(options.warmup + options.steps):
        begin = time.perf_counter()
        images, labels = next(source)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(network(in_layout(images, options.layout)), labels)
        loss.backward()
        optimizer.step()
        loss_value = loss.item()
        if step >= options.warmup:
            seconds.append(time.perf_counter() - begin)
    print(json.dumps({"version": torch.__version__, "seconds": seconds, "items": options.batch_size, "loss": loss_value,
                      "parameters": sum(p.numel() for p in network.parameters())}))


if __name__ == "__main__":
    main()
