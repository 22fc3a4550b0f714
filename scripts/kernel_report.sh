#!/usr/bin/env bash
# Registers, spills and shared memory of every kernel, and loads and stores of 16 bytes in its machine code:
#   scripts/kernel_report.sh [ARCH]      default 90; needs nvcc, no GPU. Exit 1 when a kernel spills.
set -euo pipefail
cd "$(dirname "$0")/.."

arch=${1:-90}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || { echo "kernel_report: nvcc is not installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

spills=0
printf '%-44s %5s %7s %8s %9s  %s\n' file regs spilled 'shared B' '128-bit' kernel
for source in lib/ops/*/*_cuda.cu lib/backends/cuda/device/*.cu; do
  name=$(basename "$source" .cu)
  # One pass: ptxas tells registers while it writes the machine code.
  "$nvcc" -std=c++20 --expt-relaxed-constexpr -O3 -arch="sm_$arch" -Ilib -cubin -Xptxas=-v \
    -o "$work/$name.cubin" "$source" 2>"$work/$name.log"
  python3 scripts/kernel_report.py "$source" "$work/$name.log" "$work/$name.cubin" || spills=1
done
exit "$spills"
