#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, in under six minutes: builds for it, checks every kernel against its op's reference,
# trains small networks beside the CPU and compares their losses, trains ResNet-50 (batch 256) in four precisions and
# GPT-2 124M (with fp8 where the GPU runs it) on synthetic data, 50 updates each, and both in PyTorch, where python3 or
# the environment of compare_pytorch.sh --pypi has one for the GPU; ends with one table: rates, MFU, and their shares of
# the roofline, of the forecast, of published rates and of PyTorch's rate. What there was no time for says so there, and
# what fails does not keep the rest from being tried.
#   scripts/check_gpu.sh                 what there is time for of compute-sanitizer comes last
#   scripts/check_gpu.sh --dry-run       the same steps on the CPU with networks cut down: whether this script works
#   scripts/check_gpu.sh --build DIR     takes what is built in DIR already
set -euo pipefail
cd "$(dirname "$0")/.."

dry=0
build=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --dry-run) dry=1 ;;
    --build)
      build=${2:?check_gpu: --build needs a folder}
      shift
      ;;
    *)
      echo "check_gpu: unknown option $1 (there are --dry-run and --build DIR)" >&2
      exit 2
      ;;
  esac
  shift
done

device=cuda:0
backend=cuda
if [[ $dry == 1 ]]; then
  device=cpu
  backend=cpu
elif ! compgen -G "/dev/nvidia[0-9]*" >/dev/null && ! command -v nvidia-smi >/dev/null; then
  echo "check_gpu: no NVIDIA GPU here (--dry-run tries the script on a CPU)" >&2
  exit 1
fi
work=$(mktemp -d)
peers=""
# finish_peers: ends what still prepares PyTorch, with all of its compilers.
finish_peers() {
  if [[ -n $peers ]]; then kill -- "-$peers" 2>/dev/null || true; wait "$peers" 2>/dev/null || true; fi
  peers=""
}
trap 'finish_peers; rm -rf "$work"' EXIT
mkdir "$work/forecasts"
: >"$work/results"
failed=0
left() { echo $((345 - SECONDS)); }
# no_more_than SECONDS: these, or what is left.
no_more_than() { echo $(($(left) < $1 ? ($(left) > 1 ? $(left) : 1) : $1)); }
step() { echo "== $1 (${SECONDS} s)"; }
# A check that fails is told in the table, and does not keep the others from being made.
fault() {
  failed=1
  printf '%s\t%s\t%s\t\n' "$1" "$2" "FAILED: $3" >>"$work/results"
}

peer=(scripts/pytorch/gpu_speed.py --device "${device%:*}")  # prints PyTorch's precision and rate
resnet_peer=(--network resnet50 --batch-size 256) gpt_peer=(--network gpt2_124m --batch-size 16) peer_steps=50
if [[ $dry == 1 ]]; then
  resnet_peer=(--network resnet50 --batch-size 1) gpt_peer=(--network gpt2_124m --batch-size 2 --small) peer_steps=3
fi
# Which Python has PyTorch for this device; and what it compiles, which it keeps on disk, while nothing is timed.
prepare_peers() {
  local python
  renice -n 19 "$BASHPID"
  for python in python3 "${MPT_PYPI_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/mpt-train/torch-pypi}/bin/python3"; do
    if "$python" -c "import torch, torchvision; torch.compile, torch.amp.GradScaler
assert '$device' == 'cpu' or torch.cuda.is_available()"; then
      echo "$python" >"$work/torch"
      "$python" "${peer[@]}" "${gpt_peer[@]}" --steps 0
      "$python" "${peer[@]}" "${resnet_peer[@]}" --steps 0
      return
    fi
  done
  : >"$work/torch"
}
set -m  # a group of processes of its own
prepare_peers >"$work/torch.log" 2>&1 &
peers=$!
set +m

if [[ -z $build ]]; then
  build="build-gpu"
  step "build for this machine"
  launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  wish=ON
  if [[ $dry == 1 ]]; then wish=OFF; fi
  cmake -S . -B "$build" -G Ninja -DMPT_CUDA=$wish "${launcher[@]}" >"$work/cmake.log" 2>&1 ||
    { tail -20 "$work/cmake.log" >&2; exit 1; }
  ninja -C "$build" -j "${MPT_JOBS:-$(nproc)}" mpt-train ops_tests >"$work/ninja.log" 2>&1 ||
    { grep -A20 FAILED "$work/ninja.log" >&2 || tail -20 "$work/ninja.log" >&2; exit 1; }
fi
trainer=$build/app/mpt-train
"$trainer" --version | grep "CUDA backend"
"$trainer" devices
# The name that our table of GPUs has for this one, and the precision modes that it runs.
gpu=$("$trainer" devices --json | python3 -c '
import json, re, sys
gpus = json.load(sys.stdin)["gpus"]
words = set(re.findall(r"\w+", gpus[0]["name"].upper())) if gpus else {"H100"}
rows = [line.split() for line in open(sys.argv[1])]
def matched(row):
    parts = row[0].upper().split("-")
    aliases = [set(alias.strip(",").upper().split("-")) for alias in row[9:]]
    return max([sum(part in words for part in parts) if parts[0] in words else 0] +
               [len(alias) for alias in aliases if alias <= words])
best = max(rows, key=matched)
print(best[0] if matched(best) else "")
' <("$trainer" plan --gpu list))
modes=$("$trainer" devices --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print((found["gpus"] or [found["cpu"]])[0]["precision_modes"])')

resnet=(train.batch_size=256 data.num_samples=512 data.augment.random_resized_crop=false data.augment.horizontal_flip=false)
gpt=(train.batch_size=16 data.num_samples=64)
if [[ $dry == 1 ]]; then
  resnet=(train.batch_size=2 data.num_samples=8 data.image_size=32)
  gpt=(train.batch_size=2 data.num_samples=8 model.depth=2 model.width=64 model.heads=2 model.context=32
    model.vocabulary_size=512)
fi
# forecast NAME CONFIG SETTINGS...
forecast() {
  local file=$work/forecasts/$1.json
  timeout 60 "$trainer" plan --config "$2" --gpu "$gpu" --json --set train.accumulate=1 "${@:3}" >"$file" 2>/dev/null ||
    rm -f "$file"
}
# Made by the CPU while the GPU runs the op test.
forecasts=()
if [[ -n $gpu ]]; then
  forecast resnet50 configs/resnet50_amp.yaml "${resnet[@]}" &
  forecasts+=($!)
  forecast gpt2_124m configs/gpt2_124m_amp.yaml "${gpt[@]}" &
  forecasts+=($!)
fi

# cases_of LOG checked|begun: how many cases of the op test were checked, or were not begun when time was up.
cases_of() { grep -oE "(checked|not begun) [0-9]+" "$1" | grep "$2" | grep -o '[0-9]*' || echo 0; }
# op_test NAME SECONDS TESTS: those of our tests, which begin no further case after these seconds.
op_test() {
  local name=$1 begin=$SECONDS code=0 log="$work/ops.log" told rest
  MPT_TEST_GPU=1 MPT_OP_SECONDS=$2 MPT_OP_CASE=$op_case timeout $(($2 + 25)) "$build/tests/ops_tests" "$3" \
    >"$log" 2>&1 || code=$?
  if [[ $code == 0 ]]; then
    told="$(cases_of "$log" checked) cases passed in $((SECONDS - begin)) s" rest=$(cases_of "$log" begun)
    if [[ $rest != 0 ]]; then told+=", no time for $rest or fewer"; fi
    printf '%s\t%s\t%s\t\n' "$name" "$backend" "${told/#0 cases /}" >>"$work/results"
  else
    grep -E -m 20 "FAILED|with message|expected|REQUIRE|CHECK" "$log" || tail -n 20 "$log"
    fault "$name" "$backend" "$([[ $code == 124 ]] && echo "not finished in $(($2 + 25)) s" || echo "see above")"
  fi
  tail -n1 "$work/results"
}

step "every kernel against its reference"
op_case=${MPT_OP_CASE:-}
tests="every GPU kernel agrees with its op's reference on a GPU"
updates="updates*on a GPU"
any_order="the libraries' kernels*in any order of sums"
if [[ $dry == 1 ]]; then
  op_case=${MPT_OP_CASE:-layer_norm}
  tests="every kernel agrees with its op's reference"
  updates="updates on the host twin*"
  any_order="the libraries' products*with either setting"
fi
op_test "op test" 65 "$tests"
num_cases=$(cases_of "$work/ops.log" checked)
op_test "updates" 20 "$updates"
if [[ $dry == 1 ]]; then op_case=${MPT_OP_CASE:-linear}; fi
op_test "op test, any order" 20 "$any_order"

# compare NAME CONFIG MODE BAR SETTINGS...: the losses of 20 updates of two micro-steps, recorded and replayed, beside those
# of the CPU; the first scale of amp_fp16 makes the first update overflow.
compare() {
  local name=$1 config=$2 mode=$3 bar=$4 code=0 result
  shift 4
  if [[ ", $modes," != *", $mode,"* ]]; then return; fi
  local settings=(log.console=quiet precision.mode="$mode" train.accumulate=2 train.steps=20 train.log_every=1
    train.eval_every=never checkpoint.every=never checkpoint.best=none data.if_missing=synthetic data.eval_limit=16
    autotune.mode=heuristic "$@")  # nothing is timed beside PyTorch's compilers
  if [[ $mode == amp_fp16 ]]; then settings+=(precision.loss_scale.init=16777216); fi
  timeout "$(no_more_than 40)" "$trainer" --config "$config" --device "$device" --output "$work/of-device" --set \
    "${settings[@]}" >"$work/log" 2>&1 &&
    timeout "$(no_more_than 40)" "$trainer" --config "$config" --device cpu --output "$work/of-cpu" --set \
      "${settings[@]}" >"$work/log" 2>&1 || code=$?
  if [[ $code != 0 ]]; then
    fault "$name" "$mode" "$([[ $code == 124 ]] && echo "not finished in time" || tail -n1 "$work/log")"
  elif result=$(python3 scripts/compare_runs.py "$work/of-device" "$work/of-cpu" "$bar" 2>&1); then
    printf '%s\t%s\t%s\t\n' "$name" "$mode" "beside the CPU: $result" >>"$work/results"
  else
    fault "$name" "$mode" "beside the CPU: $result"
  fi
  rm -rf "$work/of-device" "$work/of-cpu"
  tail -n1 "$work/results"
}

step "small networks beside the CPU"
small_resnet=(data.path="$work/none" data.num_samples=512 train.batch_size=16 optimizer.lr=0.01 schedule.warmup=0)
small_gpt=(data.num_samples=512 model.depth=2 model.width=128 model.heads=2 model.context=64 model.vocabulary_size=512
  train.batch_size=8 schedule.warmup=0)
small_pairs=(model.depth=2 model.width=128 model.heads=2 model.ffn_width=256 model.vocabulary_size=512
  data.num_samples=512 train.batch_tokens=1024 schedule.warmup=5)
for mode in fp32:1e-4 amp_fp16:2e-2 amp_bf16:2e-2; do
  compare resnet20 configs/fashion_mnist_resnet20_amp.yaml "${mode%:*}" "${mode#*:}" "${small_resnet[@]}"
  compare gpt configs/gpt2_124m_amp.yaml "${mode%:*}" "${mode#*:}" "${small_gpt[@]}"
  compare transformer configs/transformer_base_amp.yaml "${mode%:*}" "${mode#*:}" "${small_pairs[@]}"
done

# From here on it is timed.
for forecast in "${forecasts[@]}"; do wait "$forecast"; done
for ((second = 0; second < 20; ++second)); do [[ -e $work/torch ]] || sleep 1; done
finish_peers
step "matrix products"
size=4096
if [[ $dry == 1 ]]; then size=128; fi
timeout "$(no_more_than 30)" "$trainer" gemm --device "$backend" --sizes ${size}x${size}x${size} ||
  fault gemm "$backend" "see above"

# train NAME CONFIG UNIT MODE SETTINGS...: 50 updates, and their rate.
train() {
  local name=$1 config=$2 unit=$3 mode=$4
  shift 4
  local run=$work/$name-$mode
  local steps=50
  if [[ $dry == 1 ]]; then steps=3; fi
  local why=""
  if [[ ", $modes," != *", $mode,"* ]]; then why="not on this device"; fi
  if [[ -z $why && $(left) -lt 15 ]]; then why="no time"; fi
  if [[ -n $why ]]; then
    printf '%s\t%s\t%s\t\n' "$name" "$mode" "left out: $why" >>"$work/results"
    return
  fi
  local code=0
  timeout "$(no_more_than 90)" "$trainer" --config "$config" --device "$device" --output "$run" --set log.console=quiet \
    precision.mode="$mode" train.steps=$steps train.warmup_steps=2 train.accumulate=1 train.eval_every=never \
    checkpoint.every=never checkpoint.best=none data.if_missing=synthetic data.eval_limit=2 data.workers="$workers" \
    "$@" >"$work/log" 2>&1 || code=$?
  if [[ $code == 0 ]]; then
    local rate
    rate=$(tail -n1 "$run/metrics.jsonl" | grep -o "\"${unit}_per_sec_median\":[0-9.]*" | cut -d: -f2 || true)
    printf '%s\t%s\t%s\t%s/s\n' "$name" "$mode" "${rate:-no rate}" "$unit" >>"$work/results"
  elif [[ $code == 124 ]]; then
    fault "$name" "$mode" "not finished in time"
  else
    fault "$name" "$mode" "$(tail -n1 "$work/log")"
  fi
  rm -rf "$run"
  tail -n1 "$work/results"
}

# beside_pytorch NAME UNIT OPTIONS...: the rate of PyTorch, for the table.
beside_pytorch() {
  local name="$1, PyTorch" unit=$2 code=0 told precision rate
  shift 2
  if [[ ! -s $work/torch ]]; then
    printf '%s\t-\tleft out: no PyTorch for %s here\t\n' "$name" "${device%:*}" >>"$work/results"
  elif [[ $(left) -lt 25 ]]; then
    printf '%s\t-\tleft out: no time\t\n' "$name" >>"$work/results"
  else
    told=$(timeout "$(no_more_than 75)" "$(<"$work/torch")" "${peer[@]}" "$@" --steps $peer_steps \
      2>"$work/log") || code=$?
    read -r precision rate <<<"$told"
    if [[ $code == 0 ]]; then
      printf '%s\t%s\t%s\t%s/s\n' "$name" "$precision" "$rate" "$unit" >>"$work/results"
    else  # PyTorch's failure is none of ours
      printf '%s\t-\tdid not run: %s\t\n' "$name" \
        "$([[ $code == 124 ]] && echo "not finished in time" || tail -n1 "$work/log")" >>"$work/results"
    fi
  fi
  tail -n1 "$work/results"
}

step "training"
workers=$(($(nproc) > 8 ? 8 : $(nproc)))
# The heuristics' first algorithms, but for one that is to be as fast as it gets: timing others takes a minute each.
quick=(autotune.mode=heuristic)
image_run=(resnet50 configs/resnet50_amp.yaml images) text_run=(gpt2_124m configs/gpt2_124m_amp.yaml tokens)
train "${image_run[@]}" amp_fp16 "${resnet[@]}"
train "${text_run[@]}" amp_bf16 "${gpt[@]}" "${quick[@]}"
beside_pytorch resnet50 images "${resnet_peer[@]}"
beside_pytorch gpt2_124m tokens "${gpt_peer[@]}"
if [[ $modes == *fp8* ]]; then train "${text_run[@]}" fp8 "${gpt[@]}" "${quick[@]}"; fi
for mode in tf32 fp32 amp_bf16; do train "${image_run[@]}" "$mode" "${resnet[@]}" "${quick[@]}"; done
train "${text_run[@]}" amp_fp16 "${gpt[@]}" "${quick[@]}"

# sanitize TOOL SECONDS: the op test under this tool of compute-sanitizer, our own kernels on f16: of each op its first
# case, then the second ones, as far as these seconds go.
sanitize() {
  local code=0 log="$work/sanitizer.log" rest
  MPT_TEST_GPU=1 MPT_OP_SECONDS=$2 MPT_OP_CASE=$own_cases timeout $(($2 + 15)) "$sanitizer" --tool "$1" \
    --error-exitcode 99 "$build/tests/ops_tests" "$tests" >"$log" 2>&1 || code=$?
  rest=$(cases_of "$log" begun)
  if [[ $code == 0 ]]; then
    printf '%s\top test\tno errors over %s of %s cases (our kernels, f16%s)\t\n' "$1" "$(cases_of "$log" checked)" \
      "$num_cases" "$([[ $rest == 0 ]] || echo "; no time for $rest or fewer of these")" >>"$work/results"
  elif [[ $code == 124 ]]; then
    printf '%s\top test\tleft out: not finished in %s s\t\n' "$1" $(($2 + 15)) >>"$work/results"
  else
    fault "$1" "op test" "$(grep -E -m1 '=========.*(Invalid|Error|Race|hazard|error)' "$log" || tail -n1 "$log")"
  fi
  tail -n1 "$work/results"
}

step "compute-sanitizer"
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
own_cases="f16 cuda cuda |f16 cuda own |f16 cuda tiles |f16 cuda rows "
if [[ $dry == 1 ]]; then
  # Stands in for it: runs the command alone.
  sanitizer=$work/compute-sanitizer own_cases="norm f16 cpu"
  printf '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift 2; done\nexec "$@"\n' >"$sanitizer"
  chmod +x "$sanitizer"
fi
for tool in memcheck racecheck; do
  # The first one leaves the other its half.
  seconds=$(($(left) - 15))
  if [[ $tool == memcheck ]]; then seconds=$((seconds / 2 - 8)); fi
  if [[ ! -x $sanitizer ]]; then
    printf '%s\top test\tleft out: no compute-sanitizer here\t\n' "$tool" >>"$work/results"
  elif [[ $seconds -lt 10 ]]; then
    printf '%s\top test\tleft out: no time\t\n' "$tool" >>"$work/results"
  else
    sanitize "$tool" "$((seconds > 60 ? 60 : seconds))"
  fi
done

step "result${gpu:+ (forecasts for $gpu)}"
python3 scripts/check_gpu_table.py "$work/results" "$work/forecasts"
exit "$failed"
