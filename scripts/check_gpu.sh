#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds for it, checks every kernel against its reference, trains ResNet-50 on
# synthetic images in four precisions, and ends with one table. Some minutes.
#   scripts/check_gpu.sh [--no-sanitizer]
set -euo pipefail
cd "$(dirname "$0")/.."

command -v nvidia-smi >/dev/null || { echo "check_gpu: no NVIDIA driver here (nvidia-smi is missing)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
echo "== build for this GPU"
cmake -S . -B build-gpu -G Ninja -DMPT_CUDA=ON -DMPT_CUDA_ARCHITECTURES=native "${launcher[@]}" >"$work/cmake.log" 2>&1 ||
  { tail -20 "$work/cmake.log" >&2; exit 1; }
ninja -C build-gpu mpt-train ops_tests | tail -1
trainer=build-gpu/app/mpt-train
"$trainer" --version | grep CUDA
"$trainer" devices

echo "== every kernel against its reference"
MPT_TEST_GPU=1 build-gpu/tests/ops_tests "every GPU kernel agrees with its op's reference on a GPU"
if [[ ${1:-} != --no-sanitizer ]] && command -v compute-sanitizer >/dev/null; then
  echo "== a part of it under compute-sanitizer"
  for tool in memcheck racecheck; do
    MPT_TEST_GPU=1 MPT_OP_CASE=norm timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      build-gpu/tests/ops_tests "every GPU kernel agrees with its op's reference on a GPU" | tail -3
  done
fi

echo "== matrix products"
"$trainer" gemm --device cuda --sizes 4096x4096x4096

echo "== training, 50 updates each"
printf '%-28s %-10s %14s\n' run precision images/s >"$work/table"
for mode in amp_fp16 amp_bf16 tf32 fp32; do
  run=$work/resnet50-$mode
  if "$trainer" --config configs/resnet50_amp.yaml --device cuda:0 --output "$run" --set log.console=quiet \
      precision.mode=$mode train.batch_size=256 train.accumulate=1 train.steps=50 train.warmup_steps=10 \
      data.num_samples=512 data.eval_limit=64 >"$work/log" 2>&1; then
    speed=$(tail -n1 "$run/metrics.jsonl" | grep -o '"images_per_sec_median":[0-9.]*' | cut -d: -f2)
  else
    speed="failed: $(tail -n1 "$work/log")"
  fi
  printf '%-28s %-10s %14s\n' "ResNet-50, batch 256" "$mode" "$speed" >>"$work/table"
done
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  python3 - >>"$work/table" <<'PY'
import time
import torch
import torchvision
model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
model_c = torch.compile(model)
x = torch.randn(256, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
y = torch.randint(0, 1000, (256,), device="cuda")
scaler = torch.amp.GradScaler("cuda")
def step():
    with torch.autocast("cuda", torch.float16):
        loss = torch.nn.functional.cross_entropy(model_c(x), y)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
for _ in range(10):
    step()
torch.cuda.synchronize()
begin = time.time()
for _ in range(40):
    step()
torch.cuda.synchronize()
print(f"{'PyTorch, compiled':<28} {'amp_fp16':<10} {256 * 40 / (time.time() - begin):14.1f}")
PY
fi
echo "== result"
cat "$work/table"
