#!/usr/bin/python3
"""Trains PyTorch over the tokens of compare_losses.py; prints the loss of every step as JSON."""
import argparse
import json
import pathlib

import numpy as np
import torch
from torch.nn import functional

import safetensors_file
import text_batches
from text_networks import EncoderDecoder, Gpt
from train_losses import parameter_groups


def network_of(case):
    if case["model"] == "gpt":
        return Gpt(case["depth"], case["width"], case["heads"], case["vocabulary"], case["length"])
    return EncoderDecoder(case["depth"], case["width"], case["heads"], case["ffn_width"], case["vocabulary"],
                          case["length"], dropout=0.0)


def optimizer_of(case, network):
    if case["model"] == "gpt":
        return torch.optim.AdamW(parameter_groups(network, case["weight_decay"]), lr=case["lr"], betas=(0.9, 0.95))
    return torch.optim.Adam(network.parameters(), lr=case["lr"], betas=(0.9, 0.98), eps=1e-9)


def loss_of_step(case, network, step):
    rows, length = case["rows"], case["length"]
    if case["model"] == "gpt":
        tokens = text_batches.chain(case["tokens"], case["vocabulary"])
        inputs, targets = (torch.from_numpy(x) for x in text_batches.window_batch(tokens, 1, step, rows, length))
        return functional.cross_entropy(network(inputs).flatten(0, 1), targets.flatten())
    pairs = text_batches.sentence_pairs(case["steps"] * rows, case["vocabulary"], length - 1)
    source, lengths, given, targets = (torch.from_numpy(x) for x in text_batches.pair_batch(pairs, step, rows, length))
    padding = torch.arange(length)[None] >= lengths[:, None]
    return functional.cross_entropy(network(source, given, padding).flatten(0, 1), targets.flatten(), ignore_index=-1,
                                    label_smoothing=case["label_smoothing"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=pathlib.Path, required=True, help="JSON with the sizes")
    parser.add_argument("--weights", required=True, help="initial weights; made when --make is given")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--f64", action="store_true", help="compute in f64")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)  # so both runs begin with the weights that --make writes
    case = json.loads(options.case.read_text())
    network = network_of(case).train()
    if options.make:
        state = network.hugging_face_state() if case["model"] == "gpt" else network.state_dict()
        safetensors_file.write(options.weights, {name: np.ascontiguousarray(t.numpy()) for name, t in state.items()})
    if options.f64:
        network = network.double()
    optimizer = optimizer_of(case, network)
    losses = []
    for step in range(case["steps"]):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of_step(case, network, step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"version": torch.__version__, "losses": losses}))


if __name__ == "__main__":
    main()
