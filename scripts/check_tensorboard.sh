#!/usr/bin/env bash
# Reads a run's event files with TensorBoard's own reader (from PyPI, into .venv/tensorboard) and compares every value
# with metrics.jsonl, rounded to f32 as event files hold it.
#
#   scripts/check_tensorboard.sh [RUN_DIRECTORY]      # without one, a short run is made
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv/tensorboard
[[ -x $venv/bin/python ]] || { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet tensorboard; }
run=${1:-}
if [[ -z $run ]]; then
  run=$(mktemp -d)/run
  build/app/mpt-train --config configs/fashion_mnist_resnet20_amp.yaml --output "$run" \
    --set train.steps=20 data.train_limit=1280 data.eval_limit=200 log.tensorboard=true log.console=quiet train.log_every=1
fi
"$venv/bin/python" - "$run" <<'PYTHON'
import json, pathlib, struct, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = pathlib.Path(sys.argv[1])
events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
events.Reload()
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]
compared = 0
rows = [json.loads(line) for line in open(run / "metrics.jsonl")]
for tag in events.Tags()["scalars"]:
    kind, key = tag.split("/")
    written = {row["step"]: row[key] for row in rows if row["kind"] == kind and row.get(key) is not None}
    for event in events.Scalars(tag):
        if event.step not in written:
            continue  # not finite, so null
        if event.value != f32(written[event.step]):
            sys.exit(f"{tag} at {event.step}: {event.value} in the event file, {written[event.step]} in metrics.jsonl")
        compared += 1
print(f"check_tensorboard: {compared} values of {len(events.Tags()['scalars'])} tags equal those of metrics.jsonl")
sys.exit(compared == 0)
PYTHON
