#!/usr/bin/env bash
# Images/s of loaders on ImageNet-like JPEGs (500x375, quality 90, made from a folder of photographs):
# RandomResizedCrop 224 and flip by mpt-train from a folder and from shards, by torchvision ImageFolder + PIL, and bare
# libjpeg-turbo decoding of the same files: whole, at 5/8 (the least that leaves 224 pixels) and at 4/8 (which does
# not). Each in turn, --rounds times; medians at the end.
#   scripts/bench_loader.sh --photos FOLDER [--workers 2] [--seconds 10] [--rounds 3]
# FOLDER has train/<class>/*; needs scripts/install_packages.sh --pytorch, and the built targets mpt-train and
# jpeg_decode_bench.
set -euo pipefail
cd "$(dirname "$0")/.."

workers=2 seconds=10 rounds=3 photos=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --photos) photos=$2; shift 2 ;;
    --workers) workers=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    *) echo "bench_loader: unknown option $1 (there are --photos, --workers, --seconds, --rounds)" >&2; exit 2 ;;
  esac
done
[[ -d $photos/train ]] || { echo "bench_loader: --photos needs a folder with train/<class>/" >&2; exit 2; }
for built in build/app/mpt-train build/tests/jpeg_decode_bench; do
  [[ -x $built ]] || { echo "bench_loader: no $built; ninja -C build mpt-train jpeg_decode_bench" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 scripts/pytorch/loader_images.py make "$photos" "$work/folder"
trainer=build/app/mpt-train
"$trainer" pack --input "$work/folder" --output "$work/shards" --shard-mb 8 >/dev/null
classes=$(find "$work/folder/train" -mindepth 1 -maxdepth 1 -type d | wc -l)

ours() {  # type, folder; its memory goes to stderr
  local said
  said=$("$trainer" data --bench --seconds "$seconds" --config configs/resnet50_imagenet_amp.yaml --set data.type="$1" \
    data.path="$work/$2" model.num_classes="$classes" data.workers="$workers" train.batch_size=64 train.accumulate=1)
  sed -n "s/^memory: /  $2: /p" <<<"$said" >&2
  sed -n 's/^loader: \([0-9.]*\) .*/\1/p' <<<"$said"
}
bare() { build/tests/jpeg_decode_bench "$workers" "$seconds" "$1" "$work"/folder/train/*/*.jpg; }
torchvision() { /usr/bin/python3 scripts/pytorch/loader_images.py measure "$work/folder" "$workers" "$seconds"; }

for round in $(seq "$rounds"); do
  {
    echo "folder $(ours imagefolder folder)"
    echo "shards $(ours shards shards)"
    echo "libjpeg-turbo,8/8 $(bare 8)"
    echo "libjpeg-turbo,5/8 $(bare 5)"
    echo "libjpeg-turbo,4/8 $(bare 4)"
    echo "torchvision $(torchvision)"
  } | tee -a "$work/rates"
done
echo "medians of $rounds rounds, $workers workers, images/s:"
for name in folder shards libjpeg-turbo,8/8 libjpeg-turbo,5/8 libjpeg-turbo,4/8 torchvision; do
  echo "  $name $(grep "^$name " "$work/rates" | cut -d' ' -f2 | sort -n | sed -n "$(((rounds + 1) / 2))p")"
done
