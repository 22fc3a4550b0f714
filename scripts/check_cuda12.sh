#!/usr/bin/env bash
# Compiles the CUDA backend against CUDA 12 for Volta (sm_70), which CUDA 13 has dropped: device code down to machine
# code, host code as far as its checks. Needs clang++ 16 or later, which stands in for nvcc (its packages for Python
# bring the headers, libdevice and ptxas alone), and pip; no GPU and no toolkit. Exit 1 when a file does not compile or
# is warned of.
#   scripts/check_cuda12.sh              fetches NVIDIA's packages into ~/.cache/mpt-train/cuda12 the first time (1.1 GB)
#   MPT_CUDA12=DIR                       where they are, or go; MPT_WHEELS=DIR takes packages that are there already
#   MPT_KERNELS=attention,conv           only files whose names contain one of these
#   MPT_CUDA12_ARCH=sm_70                for another generation
set -euo pipefail
cd "$(dirname "$0")/.."

home=${MPT_CUDA12:-${XDG_CACHE_HOME:-$HOME/.cache}/mpt-train/cuda12}
arch=${MPT_CUDA12_ARCH:-sm_70}
clang=""
for version in 16 17 18 19 20; do
  if command -v "clang++-$version" >/dev/null; then clang=clang++-$version && break; fi
done
[[ -n $clang ]] || { echo "check_cuda12: clang++-16 or later is not installed" >&2; exit 1; }

if [[ ! -x $home/bin/ptxas ]]; then
  wheels=${MPT_WHEELS:-$home.wheels}
  if [[ ! -d $wheels ]]; then
    python3 -m pip download --quiet --no-deps --dest "$wheels" "nvidia-cuda-nvcc-cu12==12.9.*" \
      "nvidia-cuda-runtime-cu12==12.9.*" "nvidia-cuda-cccl-cu12==12.9.*" "nvidia-cublas-cu12==12.9.*" \
      "nvidia-nvtx-cu12==12.9.*" "nvidia-cudnn-cu12==9.19.*"
  fi
  mkdir -p "$home"
  # Headers and the compiler's parts; the libraries are not linked.
  python3 - "$wheels" "$home" <<'PYTHON'
import pathlib
import sys
import zipfile

wheels, home = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(wheels.glob("nvidia_*cu12*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = pathlib.PurePosixPath(name).parts
            if len(parts) < 4 or parts[0] != "nvidia" or parts[2] not in ("bin", "include", "nvvm") or name.endswith("/"):
                continue
            target = home.joinpath(*parts[2:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
            if parts[2] == "bin":
                target.chmod(0o755)
PYTHON
fi
cuda=$(sed -n 's/^#define CUDART_VERSION *//p' "$home/include/cuda_runtime_api.h" | tr -d ' ')
echo "CUDA $((cuda / 1000)).$((cuda % 1000 / 10)), $arch, $("$clang" --version | head -n1)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# libstdc++ says __noinline__ as an attribute, which CUDA's headers define as a macro.
mkdir -p "$work/wrap/bits"
printf '%s\n' '#pragma push_macro("__noinline__")' '#undef __noinline__' '#include_next <bits/shared_ptr_base.h>' \
  '#pragma pop_macro("__noinline__")' >"$work/wrap/bits/shared_ptr_base.h"

failed=0 files=0 begin=$SECONDS
wanted() { [[ -z ${MPT_KERNELS:-} ]] || grep -qE "${MPT_KERNELS//,/|}" <<<"$1"; }
# check NAME COMMAND...: the command must succeed and say nothing.
check() {
  local name=$1
  shift
  files=$((files + 1))
  if "$@" >"$work/log" 2>&1 && [[ ! -s $work/log ]]; then return; fi
  failed=$((failed + 1))
  echo "FAILED: $name"
  head -n 20 "$work/log"
}
for source in lib/ops/*/*_cuda.cu lib/backends/cuda/device/*.cu; do
  name=$(basename "$source")
  wanted "$name" || continue
  check "$source" "$clang" -x cuda --cuda-path="$home" --ptxas-path="$home/bin/ptxas" --cuda-gpu-arch="$arch" \
    -std=c++20 -O2 -Wall -Werror -Wno-unknown-cuda-version -Wno-unused-command-line-argument -Ilib -I"$work/wrap" \
    --cuda-device-only -c -o "$work/object" "$source"
done
kernels=$files
for source in lib/backends/cuda/device/*.cpp; do
  name=$(basename "$source")
  wanted "$name" || continue
  check "$source" "${CXX:-g++}" -std=c++20 -Ilib -isystem "$home/include" '-DMPT_CUDNN_PATH=""' \
    '-DMPT_CUBLASLT_PATH=""' '-DMPT_CUDA_BUILD=""' -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only "$source"
done
echo "$kernels files of kernels and $((files - kernels)) of host code, $failed of them failed, $((SECONDS - begin)) s"
[[ $failed == 0 ]]
