#!/usr/bin/python3
"""Images or tokens per second of mpt-train and of tuned PyTorch, side by side. Started by scripts/compare_pytorch.sh."""
import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import machine

HERE = pathlib.Path(__file__).resolve().parent
# More foreign work than this, in cores, and a row is no evidence.
QUIET = 0.1


@dataclasses.dataclass
class Workload:
    name: str
    unit: str  # what is counted a second
    batch: str
    train: str  # of our config's section train
    config: str
    torch: list  # PyTorch's script and its words
    torch_steps: int
    our_steps: int
    bar: float  # fp32 over the better of PyTorch's layouts
    layouts: tuple = ("nchw", "nhwc")
    bytes_bar: float = 0.55  # activations of amp_fp16 over those of fp32
    data: str = ""  # what our line about the data must say


def image_workload(name, batch_size, config, **rest):
    return Workload(name, "images", f"batch {batch_size}", f"batch_size: {batch_size}",
                    config + "optimizer: {type: sgd, lr: 0.01, momentum: 0.9, weight_decay: 0.0001}",
                    ["train_speed.py", "--workload", name, "--batch-size", batch_size], **rest)


def text_workload(name, batch, train, config, **rest):
    return Workload(name, "tokens", batch, train, config, ["train_speed_text.py", "--workload", name],
                    layouts=("",), bytes_bar=0.6, **rest)


def gpt_workload(name, sizes, windows, length, **rest):
    return text_workload(name, f"batch {windows} of {length} tokens", f"batch_size: {windows}", f"""
model: {{type: gpt, {sizes}, context: {length}}}
data: {{type: synthetic, num_samples: 64, eval_limit: {windows}}}
optimizer: {{type: adamw, lr: 0.0003, beta1: 0.9, beta2: 0.95, weight_decay: 0.1}}
""", **rest)


GPT2 = "depth: 12, width: 768, heads: 12, vocabulary_size: 50257"
WORKLOADS = [
    image_workload("resnet50", 16, """
model: {type: resnet, depth: 50, num_classes: 1000}
data: {type: synthetic, image_size: 224, channels: 3, num_samples: 64, eval_limit: 16}
""", torch_steps=4, our_steps=8, bar=1.12),
    image_workload("resnet20", 128, """
model: {type: resnet, depth: 20, num_classes: 10}
data: {type: idx, path: /usr/share/datasets/fashion-mnist, eval_limit: 128}
""", torch_steps=16, our_steps=32, bar=1.2),
    gpt_workload("gpt-small", "depth: 6, width: 384, heads: 6, vocabulary_size: 256", 16, 256,
                 torch_steps=4, our_steps=6, bar=1.2),
    gpt_workload("gpt2-124m-64", GPT2, 4, 64, torch_steps=4, our_steps=6, bar=1.3),
    gpt_workload("gpt2-124m-256", GPT2, 4, 256, torch_steps=3, our_steps=4, bar=1.2),
    text_workload("transformer-base", "batch 32 of 32 tokens a side", "batch_tokens: 1024, label_smoothing: 0.1", """
model: {type: transformer, depth: 6, width: 512, heads: 8, ffn_width: 2048, vocabulary_size: 8000,
  dropout: 0.1, attention_dropout: 0.1, activation_dropout: 0.1}
data: {type: synthetic, sequence_length: 32, num_samples: 160}
optimizer: {type: adam, lr: 0.0001, beta1: 0.9, beta2: 0.98, epsilon: 1e-9}
""", data="batches of 32x32,", torch_steps=4, our_steps=6, bar=1.3),
]
WARMUP = 4
BAR_FP16_SPEED = 0.9

OUR_RUN = """
precision: {{mode: {mode}}}
train: {{steps: {steps}, {train}, warmup_steps: {warmup}, eval_every: never}}
checkpoint: {{every: never, best: none}}
log: {{console: plain}}
seed: 1
"""


@dataclasses.dataclass
class Measured:
    items_per_sec: float  # images or tokens, by the median step
    peak_rss_mib: float
    foreign_cpus: float
    stolen_cpus: float
    parameters: int
    activation_bytes: int = 0
    version: str = ""


class Failed(Exception):
    pass


def finished(command, environment=None):
    result = machine.run(command, environment)
    if result.returncode != 0:
        last = (result.errors or result.output).strip().splitlines()[-1:]
        raise Failed(f"{' '.join(str(word) for word in command)}: exit {result.returncode}: {' '.join(last)}")
    return result


def run_torch(python, layout, workload, options):
    script, *words = workload.torch
    layout = ["--layout", layout] if layout else []
    result = finished([python, HERE / script, *words, *layout, "--threads", options.threads,
                       "--steps", workload.torch_steps], machine.TUNED_MALLOC)
    line = json.loads(result.output.splitlines()[-1])
    return Measured(line["items"] / statistics.median(line["seconds"]), result.peak_rss_mib, result.foreign_cpus,
                    result.stolen_cpus, line["parameters"], version="PyTorch " + line["version"])


def run_ours(mode, workload, options):
    with tempfile.TemporaryDirectory(prefix="mpt-compare-") as folder:
        folder = pathlib.Path(folder)
        config = folder / f"{workload.name}.yaml"
        config.write_text(workload.config + OUR_RUN.format(
            mode=mode, steps=workload.our_steps + WARMUP, train=workload.train, warmup=WARMUP))
        result = finished([options.program, "--config", config, "--output", folder / "run",
                           "--threads", options.threads])
        rows = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
        log = (folder / "run/log.txt").read_text()
    if rows[-1]["kind"] != "summary":
        raise Failed(f"{options.program}: metrics.jsonl of {workload.name} {mode} ends without a summary")
    if workload.data not in log:
        raise Failed(f"{options.program}: the log of {workload.name} does not say '{workload.data}'")
    return Measured(rows[-1][f"{workload.unit}_per_sec_median"], result.peak_rss_mib, result.foreign_cpus,
                    result.stolen_cpus, num_parameters(log), activation_bytes=planned_activations(log))


def num_parameters(log):
    """Trained values: the line about weight decay has those with and those without."""
    line = re.search(r"weight decay: .*", log)
    return sum(int(count) for count in re.findall(r"\((\d+) values\)", line[0])) if line else 0


def planned_activations(log):
    """Bytes of the line of the memory report that speaks of activations."""
    found = re.search(r"activations\D*?([\d.]+)\s*(B|KiB|MiB|GiB)\b", log)
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    return round(float(found[1]) * units[found[2]]) if found else 0


def contenders(workload, options):
    """name -> function(workload) -> Measured, in the order of a repetition."""
    result = {}
    pythons = {"torch-debian": "/usr/bin/python3"}
    if options.pypi_python:
        pythons["torch-pypi"] = options.pypi_python
    for name, python in pythons.items():
        for layout in workload.layouts:
            result[f"{name} {layout}".strip()] = lambda w, p=python, x=layout: run_torch(p, x, w, options)
    for mode in ("fp32", "amp_fp16", "amp_bf16"):
        result[f"mpt-train {mode}"] = lambda w, m=mode: run_ours(m, w, options)
    return result


def summary_of(runs):
    speeds = [run.items_per_sec for run in runs]
    return {"repetitions": speeds, "median": statistics.median(speeds), "min": min(speeds), "max": max(speeds),
            "peak_rss_mib": max(run.peak_rss_mib for run in runs),
            "foreign_cpus": max(run.foreign_cpus for run in runs),
            "stolen_cpus": max(run.stolen_cpus for run in runs),
            "activation_bytes": runs[0].activation_bytes, "parameters": runs[0].parameters,
            "version": runs[0].version}


def check_same_network(workload, runs):
    counts = {name: measured[-1].parameters for name, measured in runs.items()}
    if len(set(counts.values())) > 1:
        raise Failed(f"{workload.name}: different numbers of parameters: {counts}")


def best_torch(rows, prefix):
    names = [name for name in rows if name.split()[0] == prefix]
    return max(names, key=lambda name: rows[name]["median"]) if names else None


def ratios_of(workload, rows):
    """[(what, ratio, bar or None, holds or None)]; a ratio is one of medians."""
    result = []

    def add(what, ratio, bar=None, above=True):
        result.append({"what": what, "ratio": ratio, "bar": bar,
                       "holds": None if bar is None else (ratio >= bar if above else ratio <= bar)})

    ours = rows["mpt-train fp32"]
    for prefix in ("torch-debian", "torch-pypi"):
        peer = best_torch(rows, prefix)
        if peer:
            add(f"mpt-train fp32 / {peer}, {workload.unit}/s", ours["median"] / rows[peer]["median"],
                workload.bar if prefix == "torch-debian" else None)
            add(f"mpt-train fp32 / {peer}, peak RSS", ours["peak_rss_mib"] / rows[peer]["peak_rss_mib"],
                1.0 if prefix == "torch-debian" else None, above=False)
    for mode in ("amp_fp16", "amp_bf16"):
        narrow = rows[f"mpt-train {mode}"]
        barred = mode == "amp_fp16"
        add(f"mpt-train {mode} / fp32, {workload.unit}/s", narrow["median"] / ours["median"],
            BAR_FP16_SPEED if barred else None)
        if ours["activation_bytes"] and narrow["activation_bytes"]:
            add(f"mpt-train {mode} / fp32, activation bytes", narrow["activation_bytes"] / ours["activation_bytes"],
                workload.bytes_bar if barred else None, above=False)
    return result


def print_rows(workload, rows, ratios):
    parameters = next(iter(rows.values()))["parameters"]
    print(f"\n{workload.name}, {parameters} parameters, {workload.batch}: {workload.unit}/s over repetitions")
    print(f"  {'':22}{'min':>9}{'median':>9}{'max':>9}{'peak RSS':>12}{'activations':>13}{'others':>8}{'host':>7}")
    for name, row in rows.items():
        activations = f"{row['activation_bytes'] / 2**20:.0f} MiB" if row["activation_bytes"] else "-"
        noisy = "  (noisy)" if row["foreign_cpus"] > QUIET else ""
        print(f"  {name:22}{row['min']:9.2f}{row['median']:9.2f}{row['max']:9.2f}{row['peak_rss_mib']:8.0f} MiB"
              f"{activations:>13}{row['foreign_cpus']:8.2f}{row['stolen_cpus']:7.2f}{noisy}")
    for ratio in ratios:
        bar = "" if ratio["bar"] is None else f"   bar {ratio['bar']}: {'met' if ratio['holds'] else 'MISSED'}"
        print(f"  {ratio['what']:52}{ratio['ratio']:7.3f}{bar}")


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="compare_pytorch.sh", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[workload.name for workload in WORKLOADS], metavar="NAME",
                        help="of " + ", ".join(workload.name for workload in WORKLOADS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="write every figure into this file")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--program", default=HERE.parents[1] / "build/app/mpt-train", help="the mpt-train to measure")
    parser.add_argument("--pypi-python", help="a Python with another PyTorch, measured beside")
    return parser.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    version = subprocess.run([options.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version.splitlines()[0]} on {machine.processor()}, {options.threads} threads, {options.repetitions} repetitions in turn")
    report = {"processor": machine.processor(), "threads": options.threads, "program": version, "workloads": {}}
    try:
        for workload in WORKLOADS:
            if options.only and workload.name not in options.only:
                continue
            runs = {name: [] for name in contenders(workload, options)}
            for repetition in range(options.repetitions):
                for name, measure in contenders(workload, options).items():
                    runs[name].append(measure(workload))
                    print(f"  {workload.name} {repetition + 1}/{options.repetitions}  {name:22}"
                          f"{runs[name][-1].items_per_sec:9.2f} {workload.unit}/s", file=sys.stderr, flush=True)
                check_same_network(workload, runs)
            rows = {name: summary_of(measured) for name, measured in runs.items()}
            ratios = ratios_of(workload, rows)
            print_rows(workload, rows, ratios)
            report["workloads"][workload.name] = {"unit": workload.unit, "batch": workload.batch,
                                                  "rows": rows, "ratios": ratios}
    except Failed as failure:
        print(f"compare_pytorch: {failure}", file=sys.stderr)
        return 1
    versions = {row["version"] for part in report["workloads"].values() for row in part["rows"].values()} - {""}
    print(f"\nPeers: {', '.join(sorted(versions))}, huge pages by malloc, of two layouts the better. "
          f"others, host: cores taken by other processes and by the host; above {QUIET} a row is no evidence.")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    missed = [r for part in report["workloads"].values() for r in part["ratios"] if r["holds"] is False]
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
