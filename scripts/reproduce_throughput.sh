#!/usr/bin/env bash
# The classic table: ResNet-50 in FP32, TF32 and AMP, throughput with ratios, then accuracy; made to be edited.
#
#   scripts/reproduce_throughput.sh [OUTPUT_DIRECTORY]
#
# First what the plan forecasts and what others published, then what is measured here. BATCH and STEPS size the
# measurement, ACCURACY_CONFIG and EPOCHS the training runs whose accuracy is compared.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  -*) echo "reproduce_throughput: unknown option $1 (there is --help)" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
mpt=${MPT_TRAIN:-$root/build/app/mpt-train}
out=${1:-$root/runs/reproduce_throughput}
batch=${BATCH:-16}
"$mpt" plan --calibration
"$mpt" sweep --config "$root/configs/resnet50_amp.yaml" --out "$out/throughput" \
    --over precision.mode=fp32,tf32,amp_fp16,amp_bf16 \
    --set train.batch_size="$batch" train.accumulate=1 train.steps="${STEPS:-8}" train.warmup_steps=2 \
    --set data.num_samples=$((batch * 4)) data.eval_limit="$batch" checkpoint.every=never checkpoint.best=none
python3 - "$out/throughput/sweep.json" <<'PYTHON'
import json, sys
rows = {row["point"][0]: row for row in json.load(open(sys.argv[1]))["rows"] if row["status"] == "ok"}
base = rows.get("fp32")
for mode, row in rows.items():
    ratio = f"{row['per_second'] / base['per_second']:.2f} x fp32" if base else ""
    memory = f"{row['peak_mib'] / base['peak_mib']:.2f} x its memory" if base else ""
    print(f"{mode:10} {row['per_second']:10.2f} images/s  {ratio}  {memory}")
PYTHON
"$mpt" sweep --config "${ACCURACY_CONFIG:-$root/configs/fashion_mnist_resnet20_amp.yaml}" --out "$out/accuracy" \
    --over precision.mode=fp32,tf32,amp_fp16,amp_bf16 --set train.epochs="${EPOCHS:-1}" --best top1
