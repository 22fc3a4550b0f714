#!/usr/bin/env bash
# From a fresh machine to a trained model: installs packages, builds, trains ResNet-20 in mixed precision on
# Fashion-MNIST for one epoch. Arguments go to mpt-train and win: scripts/quickstart.sh --set train.epochs=5
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
scripts/build.sh mpt-train

defaults=()
given=" $* "
[[ $given == *" --config"* ]] || defaults+=(--config configs/fashion_mnist_resnet20_amp.yaml)
# The config says five epochs; a first look takes one.
[[ $given == *" --config"* || $given =~ train\.(epochs|steps)= || $given =~ \ --(resume|help|version) ]] ||
  defaults+=(--set train.epochs=1)
# A directory of its own each time, so that a second try neither fails nor overwrites the first.
[[ $given =~ \ --(output|resume|overwrite|help|version) || $given == *output_dir=* ]] ||
  defaults+=(--output "runs/quickstart-$(date +%Y%m%d-%H%M%S)")
exec build/app/mpt-train "${defaults[@]}" "$@"
