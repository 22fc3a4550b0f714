#!/usr/bin/python3
"""Losses of mpt-train and of PyTorch, step by step: same initial weights, same batches in the same order, no
augmentation, no dropout. Started by scripts/compare_losses.sh.

A further run says what rounding alone does to the curve: PyTorch in f64, for images in its other memory format unless
--exact is given. The curve must be one that can be compared: in a ResNet as usually initialised the gradient depends on
which side of zero millions of ReLU inputs fall, and PyTorch's own f32 is 1e-2 away from its f64 after a few steps. So
blocks begin as identity (zero_init_residual), and noise keeps the black background of Fashion-MNIST from falling as one.
"""
import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import numpy as np

import idx_files
import machine
import text_batches

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class ImageCase:
    name: str
    depth: int
    steps: int
    batch_size: int
    lr: float
    weight_decay: float
    bars: dict  # precision -> [(first steps, largest relative difference)]

    def write_data(self, folder):
        idx_files.write_set(folder, *images_of(self))

    def config(self, folder, mode):
        return IMAGE_CONFIG.format(data=folder / "data", mean=MEAN, std=STD, mode=mode, **dataclasses.asdict(self))

    def torch_words(self, folder):
        return ["train_losses.py", "--depth", self.depth, "--data", folder / "data", "--mean", MEAN, "--std", STD,
                "--steps", self.steps, "--batch-size", self.batch_size, "--lr", self.lr,
                "--weight-decay", self.weight_decay]

    def other_torch(self, exact):
        return ["--f64"] if exact else ["--layout", "nhwc"]

    def __str__(self):
        return f"{self.name}, batch {self.batch_size}, lr {self.lr}"


TEXT_BARS = {"fp32": [(20, 1e-3)], "amp_fp16": [(20, 2e-2)], "amp_bf16": [(20, 2e-2)]}


@dataclasses.dataclass
class TextCase:
    name: str
    model: str
    rows: int
    length: int
    vocabulary: int  # no multiple of what tables are padded to
    lr: float
    depth: int = 3
    width: int = 128
    heads: int = 4
    ffn_width: int = 512
    steps: int = 20
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    tokens: int = 20000
    bars: dict = dataclasses.field(default_factory=lambda: TEXT_BARS)

    def write_data(self, folder):
        if self.model == "gpt":
            text_batches.write_tokens(folder / "tokens.bin", text_batches.chain(self.tokens, self.vocabulary))
        else:
            pairs = text_batches.sentence_pairs(self.steps * self.rows, self.vocabulary, self.length - 1)
            text_batches.write_pairs(folder / "pairs.tsv", pairs)
            text_batches.write_word_model(folder / "words.model", self.vocabulary)
        (folder / "case.json").write_text(json.dumps(dataclasses.asdict(self)))

    def config(self, folder, mode):
        config = GPT_CONFIG if self.model == "gpt" else TRANSFORMER_CONFIG
        return config.format(data=folder / "data", mode=mode, batch_tokens=self.rows * self.length,
                             **dataclasses.asdict(self))

    def torch_words(self, folder):
        return ["train_losses_text.py", "--case", folder / "data/case.json"]

    def other_torch(self, exact):
        return ["--f64"]

    def __str__(self):
        return f"{self.name}, batch {self.rows} of {self.length} tokens, lr {self.lr}"


CASES = [
    ImageCase("resnet20", 20, steps=50, batch_size=128, lr=0.02, weight_decay=5e-4,
              bars={"fp32": [(10, 1e-4), (50, 5e-3)]}),
    ImageCase("resnet50", 50, steps=10, batch_size=32, lr=0.0001, weight_decay=1e-4, bars={"fp32": [(10, 1e-4)]}),
    TextCase("gpt", "gpt", rows=8, length=64, vocabulary=250, lr=1e-3, weight_decay=0.1),
    TextCase("transformer", "transformer", rows=32, length=16, vocabulary=250, lr=1e-3, label_smoothing=0.1),
]

END_OF_CONFIG = """
seed: 1
precision: {{mode: {mode}}}
checkpoint: {{every: never, best: none}}
log: {{console: plain}}
"""
IMAGE_CONFIG = """
model: {{type: resnet, depth: {depth}, num_classes: 10}}
data:
  type: idx
  path: {data}
  shuffle: false
  eval_limit: {batch_size}
  augment: {{normalize: {{mean: [{mean}], std: [{std}]}}}}
train: {{steps: {steps}, batch_size: {batch_size}, log_every: 1, eval_every: never}}
optimizer: {{type: sgd, lr: {lr}, momentum: 0.9, weight_decay: {weight_decay}}}
""" + END_OF_CONFIG
GPT_CONFIG = """
model: {{type: gpt, depth: {depth}, width: {width}, heads: {heads}, context: {length}, vocabulary_size: {vocabulary}}}
data: {{type: tokens, path: {data}/tokens.bin, validation_path: {data}/tokens.bin, eval_limit: {rows}}}
train: {{steps: {steps}, batch_size: {rows}, log_every: 1, eval_every: never}}
optimizer: {{type: adamw, lr: {lr}, beta1: 0.9, beta2: 0.95, weight_decay: {weight_decay}}}
""" + END_OF_CONFIG
# One bucket and no shuffling: batches in the order of the file.
TRANSFORMER_CONFIG = """
model: {{type: transformer, depth: {depth}, width: {width}, heads: {heads}, ffn_width: {ffn_width}}}
data:
  type: parallel
  path: {data}/pairs.tsv
  validation_path: {data}/pairs.tsv
  eval_limit: {rows}
  tokenizer_path: {data}/words.model
  buckets: 1
  shuffle: false
translation: {{bleu: false}}
train:
  steps: {steps}
  batch_tokens: {batch_tokens}
  label_smoothing: {label_smoothing}
  log_every: 1
  eval_every: never
optimizer: {{type: adam, lr: {lr}, beta1: 0.9, beta2: 0.98, epsilon: 1e-9}}
""" + END_OF_CONFIG
MEAN, STD = 0.2860, 0.3530


def images_of(case):
    """(images, labels): Fashion-MNIST with noise; twice as large with a border, so 64x64, for ResNet-50."""
    images, labels = idx_files.fashion_mnist("train")
    count = case.steps * case.batch_size
    images, labels = images[:count].astype(int), labels[:count]
    if case.depth == 50:
        images = np.pad(images.repeat(2, 1).repeat(2, 2), ((0, 0), (4, 4), (4, 4), (0, 0)))
    noise = np.random.default_rng(1).integers(0, 64, images.shape)
    return np.clip(images + noise, 0, 255).astype(np.uint8), labels


def run(command, environment=None):
    result = machine.run(command, environment)
    if result.returncode != 0:
        last = (result.errors or result.output).strip().splitlines()[-1:]
        sys.exit(f"compare_losses: {command[0]}: exit {result.returncode}: {' '.join(last)}")
    return result


def torch_losses(case, folder, options, *how):
    script, *words = case.torch_words(folder)
    result = run(["/usr/bin/python3", HERE / script, *words, "--weights", folder / "init.safetensors",
                  "--threads", options.threads, *how], machine.TUNED_MALLOC)
    line = json.loads(result.output.splitlines()[-1])
    return line["losses"], line["version"]


def our_losses(case, mode, folder, options):
    config = folder / f"{case.name}-{mode}.yaml"
    config.write_text(case.config(folder, mode))
    run([options.program, "--config", config, "--output", folder / mode, "--threads", options.threads,
         "--init-from", folder / "init.safetensors"])
    rows = [json.loads(line) for line in (folder / mode / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if row["kind"] == "train"]
    if len(losses) != case.steps:
        sys.exit(f"compare_losses: {case.name}: {len(losses)} rows in metrics.jsonl, {case.steps} expected")
    return losses


def compare(case, options):
    """Prints the table; returns whether every bar is met."""
    with tempfile.TemporaryDirectory(prefix="mpt-losses-") as name:
        folder = pathlib.Path(name)
        (folder / "data").mkdir()
        case.write_data(folder / "data")
        peer, version = torch_losses(case, folder, options, "--make")
        how = case.other_torch(options.exact)
        other, _ = torch_losses(case, folder, options, *how)
        ours = {mode: our_losses(case, mode, folder, options) for mode in case.bars}

    def relative(losses):
        return [abs(a - b) / abs(b) for a, b in zip(losses, peer)]

    differences, rounding = {mode: relative(losses) for mode, losses in ours.items()}, relative(other)
    print(f"\n{case}: losses, and how far they are from those of PyTorch {version} in f32")
    print(f"  {'step':>4}{'PyTorch':>12}{'mpt-train':>12}" + "".join(f"{mode:>10}" for mode in ours)
          + f"{'PyTorch ' + how[-1].strip('-'):>14}")
    for step in range(case.steps):
        if step < 10 or (step + 1) % 5 == 0:
            print(f"  {step + 1:4}{peer[step]:12.6f}{ours['fp32'][step]:12.6f}"
                  + "".join(f"{difference[step]:10.1e}" for difference in differences.values())
                  + f"{rounding[step]:14.1e}")
    met = True
    for mode, bars in case.bars.items():
        for steps, bar in bars:
            worst, floor = max(differences[mode][:steps]), max(rounding[:steps])
            met &= worst <= bar
            print(f"  {mode}, first {steps} steps: largest difference {worst:.1e}, bar {bar:.0e}: "
                  f"{'met' if worst <= bar else 'MISSED'} (PyTorch against itself {floor:.1e})")
    return met


def main():
    parser = argparse.ArgumentParser(prog="compare_losses.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], metavar="NAME",
                        help="of " + ", ".join(case.name for case in CASES))
    parser.add_argument("--exact", action="store_true", help="take PyTorch in f64 as the further run for images, too (slow)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default=HERE.parents[1] / "build/app/mpt-train")
    options = parser.parse_args()
    met = [compare(case, options) for case in CASES if not options.only or case.name in options.only]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
