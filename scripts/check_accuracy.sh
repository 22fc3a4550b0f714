#!/usr/bin/env bash
# Test accuracy of ResNet-20 on Fashion-MNIST against its bars: one epoch in three precisions and three seeds,
# then five epochs. About half an hour on two cores; exit 1 when a bar is missed.
#   scripts/check_accuracy.sh [--seeds 1 2 3] [--skip-five] [--output DIR]
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
program=$PWD

scripts/install_packages.sh
scripts/build.sh mpt-train
cd "$here"
exec /usr/bin/python3 "$program/scripts/check_accuracy.py" "$@"
