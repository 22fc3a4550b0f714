#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, in under six minutes: builds for it, checks every kernel against its op's reference,
# trains ResNet-50 (batch 256) in four precisions and GPT-2 124M on synthetic data, 50 updates each, and ends with one
# table: rates, MFU, and their shares of the roofline, of the forecast and of published rates.
#   scripts/check_gpu.sh                 what there is time for of PyTorch and compute-sanitizer comes last
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
trap 'rm -rf "$work"' EXIT
mkdir "$work/forecasts"
: >"$work/results"
failed=0
left() { echo $((340 - SECONDS)); }
step() { echo "== $1 (${SECONDS} s)"; }
# A check that fails is told in the table, and does not keep the others from being made.
fault() {
  failed=1
  printf '%s\t%s\t%s\t\n' "$1" "$2" "FAILED: $3" >>"$work/results"
}

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

step "every kernel against its reference"
tests="every GPU kernel agrees with its op's reference on a GPU"
if [[ $dry == 1 ]]; then
  tests="every kernel agrees with its op's reference"
  MPT_OP_CASE=${MPT_OP_CASE:-layer_norm}
fi
if MPT_TEST_GPU=1 MPT_OP_CASE=${MPT_OP_CASE:-} timeout 120 "$build/tests/ops_tests" "$tests" >"$work/ops.log" 2>&1; then
  tail -n 2 "$work/ops.log"
else
  grep -E -m 20 "FAILED|with message|expected|REQUIRE|CHECK" "$work/ops.log" || tail -n 20 "$work/ops.log"
  fault "op test" "$backend" "see above"
fi

step "matrix products"
size=4096
if [[ $dry == 1 ]]; then size=128; fi
timeout 60 "$trainer" gemm --device "$backend" --sizes ${size}x${size}x${size} || fault gemm "$backend" "see above"

# The name that our table of GPUs has for this one.
gpu=$("$trainer" devices --json | python3 -c '
import json, re, sys
gpus = json.load(sys.stdin)["gpus"]
words = set(re.findall(r"\w+", gpus[0]["name"].upper())) if gpus else {"H100"}
table = [line.split() for line in open(sys.argv[1])]
known = [row for row in table if {row[0].upper(), row[0].split("-")[0].upper()} & words or
         {alias.strip(",").upper() for alias in row[9:]} & words]
print(known[0][0] if known else "")
' <("$trainer" plan --gpu list))

# train NAME CONFIG UNIT MODE SETTINGS...: 50 updates, and their rate.
train() {
  local name=$1 config=$2 unit=$3 mode=$4
  shift 4
  local run=$work/$name-$mode
  local steps=50
  if [[ $dry == 1 ]]; then steps=3; fi
  if [[ $(left) -lt 10 ]]; then
    printf '%s\t%s\t%s\t\n' "$name" "$mode" "left out: no time" >>"$work/results"
    return
  fi
  if [[ -n $gpu && ! -e $work/forecasts/$name.json ]]; then
    timeout 60 "$trainer" plan --config "$config" --gpu "$gpu" --json --set train.accumulate=1 "$@" \
      >"$work/forecasts/$name.json" 2>/dev/null || rm -f "$work/forecasts/$name.json"
  fi
  if timeout 90 "$trainer" --config "$config" --device "$device" --output "$run" --set log.console=quiet \
    precision.mode="$mode" train.steps=$steps train.warmup_steps=2 train.accumulate=1 data.if_missing=synthetic \
    data.eval_limit=2 "$@" >"$work/log" 2>&1; then
    local rate
    rate=$(tail -n1 "$run/metrics.jsonl" | grep -o "\"${unit}_per_sec_median\":[0-9.]*" | cut -d: -f2 || true)
    printf '%s\t%s\t%s\t%s/s\n' "$name" "$mode" "${rate:-no rate}" "$unit" >>"$work/results"
  else
    fault "$name" "$mode" "$(tail -n1 "$work/log")"
  fi
  tail -n1 "$work/results"
}

step "training"
resnet=(train.batch_size=256 data.num_samples=512)
gpt=(train.batch_size=16 data.num_samples=64)
if [[ $dry == 1 ]]; then
  resnet=(train.batch_size=2 data.num_samples=8 data.image_size=32)
  gpt=(train.batch_size=2 data.num_samples=8 model.depth=2 model.width=64 model.heads=2 model.context=32
    model.vocabulary_size=512)
fi
for mode in amp_fp16 amp_bf16 tf32 fp32; do train resnet50 configs/resnet50_amp.yaml images "$mode" "${resnet[@]}"; done
for mode in amp_bf16 amp_fp16; do train gpt2_124m configs/gpt2_124m_amp.yaml tokens "$mode" "${gpt[@]}"; done

torch_device=cuda
torch_images=256
torch_updates=40
if [[ $dry == 1 ]]; then torch_device=cpu torch_images=1 torch_updates=1; fi
if [[ $(left) -gt 60 ]] &&
  python3 -c "import torch, torchvision; assert '$torch_device' == 'cpu' or torch.cuda.is_available()" 2>/dev/null; then
  step "PyTorch"
  if rate=$(timeout "$(left)" python3 scripts/pytorch/gpu_speed.py --device "$torch_device" \
    --batch-size "$torch_images" --steps "$torch_updates" 2>"$work/log"); then
    printf 'resnet50, PyTorch\tamp_fp16\t%s\timages/s\n' "$rate" >>"$work/results"
  else
    echo "PyTorch did not run: $(tail -n1 "$work/log")"
  fi
fi

if [[ $(left) -gt 40 ]] && command -v compute-sanitizer >/dev/null && [[ $dry == 0 ]]; then
  step "a part of the op test under compute-sanitizer"
  for tool in memcheck racecheck; do
    if [[ $(left) -lt 20 ]]; then break; fi
    code=0
    MPT_TEST_GPU=1 MPT_OP_CASE=norm timeout "$(left)" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$build/tests/ops_tests" "$tests" >"$work/sanitizer.log" 2>&1 || code=$?
    tail -n 2 "$work/sanitizer.log"
    if [[ $code == 9 ]]; then fault "$tool" "op test" "$(grep -m1 '=========' "$work/sanitizer.log")"; fi
  done
fi

step "result${gpu:+ (forecasts for $gpu)}"
python3 scripts/check_gpu_table.py "$work/results" "$work/forecasts"
exit "$failed"
