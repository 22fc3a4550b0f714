#!/usr/bin/env bash
# Runs libFuzzer on the picture decoders, the tar index and the shard index. Needs clang 16 (g++ has no libFuzzer, and
# clang 14 no source_location): apt-get install clang-16 libclang-rt-16-dev
#   scripts/fuzz_pictures.sh [--seconds N] [--only NAME]     N seconds each, 600 unless given
# Inputs that were found lie in build/fuzz/NAME; a crash is written there, too, and ends the script with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600
targets=(jpeg png webp tar shard_index)
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds) seconds=$2; shift 2 ;;
    --only) targets=("$2"); shift 2 ;;
    *) echo "fuzz_pictures: unknown option $1 (there are --seconds, --only)" >&2; exit 2 ;;
  esac
done
command -v clang++-16 >/dev/null || { echo "fuzz_pictures: no clang++-16; apt-get install clang-16 libclang-rt-16-dev" >&2; exit 2; }

mkdir -p build/fuzz
sources=(lib/core/*.cpp lib/dataset/data_file.cpp
  lib/dataset/pictures/{picture_reader,orientation,jpeg_decoder,png_decoder,webp_decoder,resize,tar_index,shard_index,file_part}.cpp)
# The same flags for all but the kernels that need AVX2.
flags=(-std=c++20 -O1 -g -Ilib -Itests -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
objects=()
for source in "${sources[@]}" lib/dataset/pictures/resize_avx2.cpp; do
  object=build/fuzz/$(basename "$source" .cpp).o
  extra=()
  [[ $source == *_avx2.cpp ]] && extra=(-mavx2)
  [[ $object -nt $source ]] || clang++-16 "${flags[@]}" "${extra[@]}" -c "$source" -o "$object"
  objects+=("$object")
done

for target in "${targets[@]}"; do
  clang++-16 "${flags[@]}" -DMPT_FUZZ="fuzz_$target" -fsanitize=fuzzer tests/fuzz/fuzz_target.cpp "${objects[@]}" \
    -o "build/fuzz/fuzz_$target" -ljpeg -lpng -lwebp -lz
  mkdir -p "build/fuzz/$target"
  scripts/fuzz_seeds.py "$target" "build/fuzz/$target"
  echo "fuzz_pictures: $target for $seconds s"
  "build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -timeout=600 -report_slow_units=600 -rss_limit_mb=2048 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" "build/fuzz/$target" 2>&1 | grep -E "stat::number_of_executed|SUMMARY|ERROR" || true
  if compgen -G "build/fuzz/$target-*" >/dev/null; then
    echo "fuzz_pictures: $target has findings: build/fuzz/$target-*" >&2
    exit 1
  fi
done
echo "fuzz_pictures: no finding"
