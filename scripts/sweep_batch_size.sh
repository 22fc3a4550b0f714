#!/usr/bin/env bash
# Throughput and memory over batch sizes and precisions, a process each; made to be edited.
#
#   scripts/sweep_batch_size.sh CONFIG [more options of `mpt-train sweep`]
#
# BATCHES, MODES and STEPS change what is run. Sizes past the memory are rows of their own; the last repeats the
# first, to show that nothing was left behind.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { echo "usage: scripts/sweep_batch_size.sh CONFIG [options of mpt-train sweep]" >&2; exit 2; }
config=$1
shift
exec "${MPT_TRAIN:-$root/build/app/mpt-train}" sweep --config "$config" \
    --over "train.batch_size=${BATCHES:-8,16,32,64,128,256,8}" \
    --over "precision.mode=${MODES:-fp32,amp_fp16,amp_bf16}" \
    --set train.accumulate=1 train.steps="${STEPS:-12}" train.warmup_steps=2 data.drop_last=true data.eval_limit=64 \
    --set checkpoint.every=never checkpoint.best=none \
    "$@"
