#!/usr/bin/python3
"""Trains PyTorch over the batches of an IDX set in the order of the file; prints the loss of every step as JSON."""
import argparse
import json
import pathlib

import numpy as np
import torch
from torch import nn

import idx_files
import safetensors_file
from networks import in_layout, memory_format, resnet, zero_init_residual


def parameter_groups(network, weight_decay):
    """Norm gains and biases, and no others, have one dimension; they are exempt from decay."""
    decayed = [p for p in network.parameters() if p.dim() > 1]
    exempt = [p for p in network.parameters() if p.dim() == 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": exempt, "weight_decay": 0.0}]


def load(network, path):
    tensors = safetensors_file.read(path)
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in tensors.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--mean", type=float, required=True)
    parser.add_argument("--std", type=float, required=True)
    parser.add_argument("--weights", required=True, help="initial weights; made when --make is given")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--f64", action="store_true", help="compute in f64")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--weight-decay", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    images = idx_files.read(next(options.data.glob("train-images-idx*")))
    images = images[..., None] if images.ndim == 3 else images
    labels = torch.from_numpy(idx_files.read(options.data / "train-labels-idx1-ubyte").astype(np.int64))

    network = resnet(options.depth, images.shape[3], 10)
    zero_init_residual(network)
    if options.make:
        safetensors_file.write(options.weights, {name: tensor.numpy() for name, tensor in network.state_dict().items()})
    else:
        load(network, options.weights)
    dtype = torch.float64 if options.f64 else torch.float32
    network = network.to(dtype=dtype, memory_format=memory_format(options.layout)).train()
    optimizer = torch.optim.SGD(parameter_groups(network, options.weight_decay), lr=options.lr, momentum=0.9)
    losses = []
    for step in range(options.steps):
        chosen = slice(step * options.batch_size, (step + 1) * options.batch_size)
        batch = torch.from_numpy(images[chosen].astype(np.float32)).permute(0, 3, 1, 2)
        batch = in_layout((batch / 255 - options.mean) / options.std, options.layout).to(dtype)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(batch), labels[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"version": torch.__version__, "losses": losses}))


if __name__ == "__main__":
    main()
