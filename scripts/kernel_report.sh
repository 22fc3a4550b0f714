#!/usr/bin/env bash
# Registers, spills and shared memory of every kernel, and loads and stores of 16 bytes in its machine code; a warning
# of the compiler is an error. Needs nvcc, no GPU. Exit 1 when a kernel spills or does not compile, or when one of those
# listed in kernel_report.py has no access of 16 bytes (read in PTX where there is no cuobjdump).
#   scripts/kernel_report.sh [ARCH...]   compute capabilities as 90; default 90; all: those the toolkit offers of ours
#   MPT_KERNELS=attention,conv           only files whose names contain one of these
set -euo pipefail
cd "$(dirname "$0")/.."

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || { echo "kernel_report: nvcc is not installed" >&2; exit 1; }
architectures=("${@:-90}")
if [[ ${architectures[0]} == all ]]; then
  offered=$("$nvcc" --list-gpu-arch)
  architectures=()
  for arch in 70 75 80 86 89 90 100 120; do
    if grep -qx "compute_$arch" <<<"$offered"; then architectures+=("$arch"); fi
  done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
for arch in "${architectures[@]}"; do
  echo "sm_$arch"
  printf '%-44s %5s %7s %8s %9s  %s\n' file regs spilled 'shared B' '128-bit' kernel
  for source in lib/ops/*/*_cuda.cu lib/backends/cuda/device/*.cu; do
    name=$(basename "$source" .cu)
    if [[ -n ${MPT_KERNELS:-} ]] && ! grep -qE "${MPT_KERNELS//,/|}" <<<"$name"; then continue; fi
    # One pass: ptxas tells registers while it writes the machine code.
    if ! "$nvcc" -std=c++20 --expt-relaxed-constexpr -O3 -arch="sm_$arch" -Werror=all-warnings -Ilib -cubin -Xptxas=-v \
      -keep -keep-dir "$work" -o "$work/$name.cubin" "$source" 2>"$work/$name.log"; then
      grep -E -m 5 'error|warning' "$work/$name.log" || cat "$work/$name.log"
      status=1
      continue
    fi
    python3 scripts/kernel_report.py "$source" "$work/$name.log" "$work/$name.cubin" "$work/$name.ptx" || status=1
  done
done
exit "$status"
