#!/usr/bin/python3
"""Full training steps of PyTorch over tokens (forward, backward, update), timed one by one; prints one JSON line."""
import argparse
import json
import time

import torch
from torch.nn import functional

from text_networks import EncoderDecoder, Gpt

GPT2 = {"depth": 12, "width": 768, "heads": 12, "vocabulary": 50304}
GPTS = {  # name -> (sizes, batch, tokens of the vocabulary, the others are padding)
    "gpt-small": ({"depth": 6, "width": 384, "heads": 6, "vocabulary": 256, "context": 256}, 16, 256),
    "gpt2-124m-64": ({**GPT2, "context": 64}, 4, 50257),
    "gpt2-124m-256": ({**GPT2, "context": 256}, 4, 50257),
}
SENTENCES, LENGTH, VOCABULARY = 32, 32, 8000


def optimizer_of(kind, network, **options):
    """One pass over all of a parameter's data where this PyTorch has it on a CPU."""
    try:
        return kind(network.parameters(), fused=True, **options)
    except (TypeError, RuntimeError):
        return kind(network.parameters(), **options)


def num_parameters(network):
    return sum(p.numel() for p in network.parameters())


def gpt_workload(name):
    """(parameters without padding, optimizer, tokens in a step, function that computes the loss)."""
    sizes, batch, num_tokens = GPTS[name]
    network = Gpt(**sizes).train()
    optimizer = optimizer_of(torch.optim.AdamW, network, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    data = torch.randint(num_tokens, (batch, sizes["context"] + 1))
    inputs, targets = data[:, :-1].contiguous(), data[:, 1:].flatten()
    count = num_parameters(network) - (sizes["vocabulary"] - num_tokens) * sizes["width"]
    return count, optimizer, inputs.numel(), lambda: functional.cross_entropy(
        network(inputs).flatten(0, 1), targets)


def transformer_workload():
    network = EncoderDecoder(6, 512, 8, 2048, VOCABULARY, LENGTH, dropout=0.1).train()
    optimizer = optimizer_of(torch.optim.Adam, network, lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    source = torch.randint(VOCABULARY, (SENTENCES, LENGTH))
    target = torch.randint(VOCABULARY, (SENTENCES, LENGTH + 1))
    inputs, targets = target[:, :-1].contiguous(), target[:, 1:].flatten()
    return num_parameters(network), optimizer, inputs.numel(), lambda: functional.cross_entropy(
        network(source, inputs).flatten(0, 1), targets, label_smoothing=0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=[*GPTS, "transformer-base"], required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    make = transformer_workload if options.workload == "transformer-base" else lambda: gpt_workload(options.workload)
    count, optimizer, num_tokens, loss_of_batch = make()
    seconds, losses = [], []
    for step in range(options.warmup + options.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of_batch()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step >= options.warmup:
            seconds.append(time.perf_counter() - begin)
    print(json.dumps({"version": torch.__version__, "seconds": seconds, "items": num_tokens, "first_loss": losses[0],
                      "loss": losses[-1], "parameters": count}))


if __name__ == "__main__":
    main()
