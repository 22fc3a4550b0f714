#!/usr/bin/env python3
"""Sentence pairs out of a dictionary of the trans-de-en package.

    dictionary_pairs.py DICTIONARY OUTPUT.tsv [--all]

A line of the dictionary is `de1 | de2 :: en1 | en2`, the i-th German with the i-th English entry; alternatives stand
behind `;`, notes in {}, [], <> and (). Written are the first alternatives of each entry without notes, when both sides
are sentences: several words that begin with a capital and end with . ! or ?. With --all phrases of two words or more
are written, too. Each pair is written once.
"""
import argparse
import re
import sys

NOTES = re.compile(r"\{[^}]*\}|\[[^\]]*\]|<[^>]*>|\([^)]*\)")
SENTENCE = re.compile(r"^[\"„“»A-ZÄÖÜ].*[.!?][\"“”«]?$")


def clean(entry):
    """The first alternative without notes, or None when a bracket is left over."""
    text = NOTES.sub(" ", entry)
    if re.search(r"[{}\[\]<>()|\t]", text):
        return None
    # `;` parts alternatives, `/` variants of a word: what stands before is one reading of the whole.
    text = text.split(";")[0]
    if "/" in text:
        return None
    text = " ".join(text.split())
    return re.sub(r" ([,.!?])", r"\1", text) or None


def is_sentence(text):
    return len(text.split()) >= 3 and SENTENCE.match(text) is not None


def pairs(lines, keep):
    for line in lines:
        if line.startswith("#") or " :: " not in line:
            continue
        german, english = line.rstrip("\n").split(" :: ", 1)
        germans, englishes = german.split(" | "), english.split(" | ")
        if len(germans) != len(englishes):
            continue
        for a, b in zip(map(clean, germans), map(clean, englishes)):
            if a and b and keep(a, b):
                yield a, b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dictionary")
    parser.add_argument("output")
    parser.add_argument("--all", action="store_true", help="phrases as well as sentences")
    options = parser.parse_args()

    def keep(a, b):
        return len(a.split()) >= 2 and len(b.split()) >= 2 if options.all else is_sentence(a) and is_sentence(b)

    try:
        with open(options.dictionary, encoding="utf-8") as lines:
            found = dict.fromkeys(pairs(lines, keep))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"dictionary_pairs: {options.dictionary}: {error}")
    with open(options.output, "w", encoding="utf-8") as output:
        output.writelines(f"{a}\t{b}\n" for a, b in found)
    print(f"prepare_text: {options.output}, {len(found)} pairs")


if __name__ == "__main__":
    main()
