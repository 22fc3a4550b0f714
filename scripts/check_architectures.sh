#!/usr/bin/env bash
# Compiles every file of the CUDA backend for every architecture that the toolkit offers of ours, from nothing, with
# warnings as errors, and says how many files, architectures and warnings there were and how long it took. Needs the
# CUDA toolkit, no GPU; the better part of an hour on two cores.
#   scripts/check_architectures.sh [BUILD]   the build folder, default build-architectures, which is made anew
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build-architectures}
rm -rf "$build"
# No ccache for nvcc: behind it warnings of headers do not come through.
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S . -B "$build" -G Ninja -DMPT_CUDA=ON -DMPT_CUDA_ARCHITECTURES=all "${launcher[@]}" |
  sed -n 's/^-- \(CUDA backend: .*\)/\1/p'
begin=$SECONDS status=0
ninja -C "$build" -j "${MPT_JOBS:-$(nproc)}" -k 0 mpt_cuda >"$build/log" 2>&1 || status=$?
kernels=$(grep -c 'Building CUDA object' "$build/log" || true)
host=$(grep -c 'Building CXX object' "$build/log" || true)
warnings=$(grep -cE 'warning( #[0-9-]+-D)?:|warning :' "$build/log" || true)
failed=$(grep -c '^FAILED:' "$build/log" || true)
echo "$kernels files of kernels, $host of host code: $warnings warnings, $failed failed, $((SECONDS - begin)) s"
echo "slowest:"
sort -t$'\t' -k2 -n "$build/.ninja_log" | awk -F'\t' '/mpt_cuda/ { printf "%8.1f s  %s\n", ($2 - $1) / 1000, $4 }' |
  sort -rn | head -n 5 | sed 's|lib/backends/cuda/device/CMakeFiles/mpt_cuda.dir/||; s|__/||g'
if [[ $status != 0 ]]; then grep -E 'error|warning' "$build/log" | head -n 20; fi
exit "$status"
