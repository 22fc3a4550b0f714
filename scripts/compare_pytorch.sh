#!/usr/bin/env bash
# Speed beside tuned PyTorch on this machine, in one run: alternating repetitions, medians, ratios.
#   scripts/compare_pytorch.sh [--only NAME...] [--repetitions N] [--threads N] [--pypi] [--json FILE] [--check]
# NAME: resnet50, resnet20, gpt-small, gpt2-124m-64, gpt2-124m-256, transformer-base
# --pypi measures the newest PyTorch from PyPI, too (a virtual environment outside the tree, several GB).
# All of it takes about half an hour; leave the machine alone meanwhile.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

for word in "$@"; do
  if [[ $word == -h || $word == --help ]]; then exec /usr/bin/python3 scripts/pytorch/compare_speed.py --help; fi
done

scripts/install_packages.sh --pytorch
scripts/build.sh mpt-train

pypi=()
for word in "$@"; do
  [[ $word == --pypi ]] || continue
  environment=${MPT_PYPI_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/mpt-train/torch-pypi}
  if ! "$environment/bin/python" -c 'import torch, torchvision, numpy' 2>/dev/null; then
    echo "compare_pytorch: installing the newest PyTorch from PyPI into $environment"
    /usr/bin/python3 -m venv "$environment" ||
      { echo "compare_pytorch: no virtual environment; apt-get install python3-venv" >&2; exit 1; }
    "$environment/bin/pip" install --quiet torch torchvision numpy
  fi
  pypi=(--pypi-python "$environment/bin/python")
done
words=()
for word in "$@"; do [[ $word == --pypi ]] || words+=("$word"); done

program=$PWD
cd "$here"
exec /usr/bin/python3 "$program/scripts/pytorch/compare_speed.py" --program "$program/build/app/mpt-train" \
  "${pypi[@]}" "${words[@]}"
