#!/usr/bin/env bash
# The largest micro-batch that the plan says fits, run under a limit of address space (ulimit -v); one more
# must be refused before anything is allocated, with exit 6.
#
#   scripts/check_limits.sh [CONFIG...]      # of images or a GPT; a ResNet-20 and a small GPT without
#
# LIMIT_KIB and MODES change what is tried. Takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
mpt=$(realpath "${MPT_TRAIN:-build/app/mpt-train}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
configs=("$@")
if [[ ${#configs[@]} -eq 0 ]]; then
  cat > "$work/resnet20.yaml" <<'YAML'
model: {type: resnet, depth: 20}
data: {type: synthetic, image_size: 32, channels: 3, num_samples: 8192, workers: 0}
train: {steps: 2, batch_size: 8}
threads: 2
YAML
  cat > "$work/gpt.yaml" <<'YAML'
model: {type: gpt, depth: 4, width: 256, heads: 4, context: 128, vocabulary_size: 512, dropout: 0}
data: {type: synthetic, num_samples: 8192, sequence_length: 128}
train: {steps: 2, batch_size: 8}
optimizer: {type: adamw, lr: 1e-4}
threads: 2
YAML
  configs=("$work/resnet20.yaml" "$work/gpt.yaml")
fi
limit=${LIMIT_KIB:-600000}

# Exit code and standard error of a run under the limit; a short last batch is left out, so that every shape is N's.
run() {  # config mode batch
  local code=0
  (ulimit -v "$limit"; exec "$mpt" --config "$1" --output "$work/run" --overwrite --set precision.mode="$2" \
    train.batch_size="$3" train.accumulate=1 train.steps=2 data.drop_last=true data.eval_limit=8 train.eval_batch_size=8 \
    checkpoint.every=never checkpoint.best=none log.console=quiet) > "$work/out" 2> "$work/err" || code=$?
  echo "$code"
}

faults=0
printf '%-12s %-10s %8s %22s %10s %10s\n' config precision largest 'limit (ulimit -v) MiB' 'it' 'one more'
for config in "${configs[@]}"; do
  for mode in ${MODES:-fp32 amp_fp16}; do
    [[ $(run "$config" "$mode" 8000) == 6 ]] || { echo "a batch of 8000 fits: lower LIMIT_KIB" >&2; exit 1; }
    largest=$(sed -n 's/.*largest micro-batch that fits is \([0-9]*\),.*/\1/p' "$work/err")
    it=$(run "$config" "$mode" "$largest")
    more=$(run "$config" "$mode" $((largest + 1)))
    grep -q 'memory: the plan needs' "$work/err" || more="$more?"
    printf '%-12s %-10s %8s %22s %10s %10s\n' "$(basename "$config" .yaml)" "$mode" "$largest" $((limit / 1024)) \
      "exit $it" "exit $more"
    [[ $it == 0 && $more == 6 ]] || faults=$((faults + 1))
  done
done
[[ $faults == 0 ]] || { echo "check_limits: $faults cases do not hold"; exit 1; }
echo "check_limits: the largest micro-batch runs, the next one is refused before anything is allocated"
