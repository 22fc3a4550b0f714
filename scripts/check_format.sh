#!/usr/bin/env bash
# Checks the sources against .clang-format; other versions of clang-format than 14 lay code out differently.
#   scripts/check_format.sh        --fix rewrites the files
set -euo pipefail
cd "$(dirname "$0")/.."

tool=""
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version 14\."; then
    tool=$candidate
    break
  fi
done
if [[ -z $tool ]]; then
  echo "SKIPPED: clang-format 14 is not installed (apt-get install clang-format-14)"
  exit 0
fi

mapfile -d '' files < <(find app lib tests \( -name '*.cpp' -o -name '*.h' \) -print0)
if [[ ${1:-} == --fix ]]; then exec "$tool" -i "${files[@]}"; fi
if "$tool" --dry-run -Werror "${files[@]}" 2>/dev/null; then
  echo "check_format: ${#files[@]} files are laid out as .clang-format says"
  exit 0
fi
# One line a file; the tool reports every place.
"$tool" --dry-run -Werror "${files[@]}" 2>&1 | sed -n 's/^\([^:]*\):.*error:.*/\1/p' | sort -u |
  sed 's/^/check_format: /; s/$/ is not laid out as .clang-format says; scripts\/check_format.sh --fix rewrites it/'
exit 1
