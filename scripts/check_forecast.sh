#!/usr/bin/env bash
# The forecast for this CPU beside a bench: ResNet-50 and a small GPT must be within 25 % of the measured update.
#
#   scripts/check_forecast.sh      # about two minutes; the machine must be quiet
set -euo pipefail
cd "$(dirname "$0")/.."
mpt=${MPT_TRAIN:-build/app/mpt-train}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/gpt_small.yaml" <<'YAML'
model: {type: gpt, depth: 6, width: 384, heads: 6, context: 256, vocabulary_size: 256, dropout: 0}
data: {type: synthetic, num_samples: 64, sequence_length: 256}
train: {steps: 20, batch_size: 16}
optimizer: {type: adamw, lr: 1e-4}
YAML
bench() {  # name config mode [more settings]
  "$mpt" bench --config "$2" --steps 3 --warmup 1 --json --set precision.mode="$3" "${@:4}" > "$work/$1-$3.json"
}
for mode in fp32 amp_fp16; do
  bench resnet50 configs/resnet50_amp.yaml "$mode" train.batch_size=16 train.accumulate=1 data.num_samples=64
done
for mode in fp32 amp_bf16; do bench gpt_small "$work/gpt_small.yaml" "$mode"; done
python3 - "$work"/*.json <<'PYTHON'
import json, pathlib, sys

worst = 0
for path in sys.argv[1:]:
    row = json.load(open(path))
    measured = row["series"][0]["per_second_median"]
    error = row["forecast_per_second"] / measured - 1
    worst = max(worst, abs(error))
    print(f"{pathlib.Path(path).stem:20} measured {measured:8.2f}, forecast {row['forecast_per_second']:8.2f} "
          f"{row['unit']}/s, {100 * error:+.1f} %; roofline {row['roofline_share']:.2f}, MFU {row['mfu']:.2f}")
print(row["device"])
print(f"check_forecast: the worst is {100 * worst:.1f} % off; at most 25 % is wanted")
sys.exit(worst > 0.25)
PYTHON
