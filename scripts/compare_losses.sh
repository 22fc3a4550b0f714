#!/usr/bin/env bash
# Loss curve beside PyTorch from the same weights over the same batches, step by step; text in narrow modes, too.
#   scripts/compare_losses.sh [--only NAME...] [--exact] [--threads N]      exit 1 when a bar is missed
# NAME: resnet20, resnet50, gpt, transformer
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh --pytorch
scripts/build.sh mpt-train
exec /usr/bin/python3 scripts/pytorch/compare_losses.py "$@"
