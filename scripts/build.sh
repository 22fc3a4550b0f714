#!/usr/bin/env bash
# Builds everything, optimised, into build/ (--sanitize: with ASan and UBSan into build-asan/).
# Words after the options go to ninja: scripts/build.sh mpt-train
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
directory=build
if [[ ${1:-} == --sanitize ]]; then
  preset=sanitize
  directory=build-asan
  shift
fi

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi

for tool in cmake ninja g++; do
  command -v "$tool" >/dev/null || { echo "build: $tool is not installed; scripts/install_packages.sh installs it" >&2; exit 1; }
done
# CMake's words only matter when it fails.
if ! log=$(cmake --preset "$preset" "${launcher[@]}" 2>&1); then
  printf '%s\n' "$log" >&2
  echo "build: cmake failed; scripts/install_packages.sh installs what is missing" >&2
  exit 1
fi
printf '%s\n' "$log" | sed -n 's/^-- \(CUDA backend: .*\)/build: \1/p'
exec ninja -C "$directory" -j "${MPT_JOBS:-$(nproc)}" "$@"
