#!/usr/bin/env bash
# Kills a run that saves at every update with SIGKILL at random moments and resumes it each time: every resume
# must work, and the weights at the end must be those of an undisturbed run, to the bit.
#   scripts/check_kill_resume.sh [KILLS=50] [BINARY=build/app/mpt-train]
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${1:-50}
binary=${2:-build/app/mpt-train}
scratch=$(mktemp -d)
child=
trap '[[ -z $child ]] || kill -KILL "$child" 2> /dev/null || true; rm -rf "$scratch"' EXIT

cat > "$scratch/run.yaml" <<'YAML'
threads: 1
model: {type: resnet, depth: 20, num_classes: 4}
data: {type: synthetic, image_size: 8, channels: 1, num_samples: 48, augment: {crop_padding: 1, horizontal_flip: true}}
precision: {mode: amp_fp16, loss_scale: {growth_interval: 7}}
train: {steps: STEPS, batch_size: 4, log_every: 1, eval_every: 5 updates}
optimizer: {type: adam, lr: 0.001, ema: 0.9}
checkpoint: {every: 1, keep: 1}
log: {console: quiet}
YAML

config() {  # STEPS: prints the path of a config for that many
  sed "s/STEPS/$1/" "$scratch/run.yaml" > "$scratch/$1.yaml"
  echo "$scratch/$1.yaml"
}

last_step() {  # DIRECTORY: of the newest checkpoint, 0 when there is none
  local newest
  newest=$(cd "$scratch/$1/checkpoints" 2> /dev/null && ls -d step-* 2> /dev/null | sort | tail -1) || true
  newest=${newest#step-}
  echo $((10#${newest:-0}))
}

done_kills=0
while ((done_kills < kills)); do
  # A far end, so that no run ends by itself before it is killed.
  "$binary" --config "$(config 100000)" --output "$scratch/killed" --resume &
  child=$!
  # From start-up to some updates later.
  sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
  ((RANDOM % 3)) && sleep "$((RANDOM % 2))"
  kill -KILL "$child" 2> /dev/null || true
  status=0
  wait "$child" 2> /dev/null || status=$?
  child=
  if ((status != 137)); then
    echo "kill $((done_kills + 1)): the resumed run ended by itself with exit $status" >&2
    exit 1
  fi
  done_kills=$((done_kills + 1))
done

steps=$(($(last_step killed) + 3))
"$binary" --config "$(config "$steps")" --output "$scratch/killed" --resume
"$binary" --config "$(config "$steps")" --output "$scratch/straight"
name=$(printf 'step-%08d' "$steps")
for file in weights.safetensors ema.safetensors optimizer.safetensors; do
  cmp "$scratch/killed/checkpoints/$name/$file" "$scratch/straight/checkpoints/$name/$file"
done
if compgen -G "$scratch/killed/checkpoints/.*-step-*" > /dev/null; then
  echo "left-over temporaries were not removed" >&2
  exit 1
fi
columns() { python3 -c '
import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["kind"] == "train":
        print(row["step"], row["loss"], row["loss_scale"], row["lr"], row["applied"], row["skipped"])' "$1"; }
diff <(columns "$scratch/killed/metrics.jsonl") <(columns "$scratch/straight/metrics.jsonl")
echo "$kills kills, $kills good resumes, $steps updates: same bits as the undisturbed run"
