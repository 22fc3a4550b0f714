#!/usr/bin/env bash
# Makes the text data of the shipped configs from Debian packages, which it installs when they are missing:
#   data/kjv/kjv.txt       the King James Bible, a verse a line (bible-kjv, text in the public domain)
#   data/de-en/pairs.tsv   German, tab, English (trans-de-en, GPL-2+)
#   scripts/prepare_text.sh [kjv] [de-en]   only these; both without an argument
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "prepare_text: $1" >&2; exit 1; }

if [[ " $* " == *" --help "* || " $* " == *" -h "* ]]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
  exit 0
fi

wanted=("$@")
[[ ${#wanted[@]} -gt 0 ]] || wanted=(kjv de-en)
for part in "${wanted[@]}"; do
  [[ $part == kjv || $part == de-en ]] || fail "unknown part $part (there are kjv and de-en)"
done

scripts/install_packages.sh --text

make_kjv() {
  local sum=b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d
  mkdir -p data/kjv
  bible -f -l100000 'gen1:1-rev22:21' | sed -E 's/^[1-3]?[A-Za-z]+[0-9]+:[0-9]+ //' >data/kjv/kjv.txt.part
  if [[ $(sha256sum <data/kjv/kjv.txt.part | cut -d' ' -f1) != "$sum" ]]; then
    echo "prepare_text: another edition of the text than the figures in README.md are of" >&2
  fi
  mv data/kjv/kjv.txt.part data/kjv/kjv.txt
  echo "prepare_text: data/kjv/kjv.txt, $(wc -l <data/kjv/kjv.txt) verses"
}

make_de_en() {
  local dictionary=/usr/share/trans/de-en
  [[ -r $dictionary ]] || fail "$dictionary is not there; the package trans-de-en brings it"
  mkdir -p data/de-en
  python3 scripts/dictionary_pairs.py "$dictionary" data/de-en/pairs.tsv
}

for part in "${wanted[@]}"; do
  if [[ $part == kjv ]]; then make_kjv; else make_de_en; fi
done
