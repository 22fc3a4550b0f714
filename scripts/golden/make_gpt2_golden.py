#!/usr/bin/env python3
"""Writes tests/golden/gpt2_ids.json: texts, the pieces GPT-2's pattern cuts them into, and their token ids.

    scripts/golden/make_gpt2_golden.py FOLDER_WITH_ENCODER_JSON_AND_VOCAB_BPE

The pieces come from the pattern of OpenAI's encoder.py in the module `regex`, the ids from OpenAI's tiktoken.
"""
import json
import pathlib
import sys

import regex
import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
TEXTS = [
    "Hello world",
    " world",
    "I'm sure they've said it's what we'll do, I'd say: 're or 'RE, don't 'S.",
    "Two  spaces,   three spaces\tand a tab \n\n  newlines  \n",
    " ",
    "   ",
    "\n\n",
    "a\u00a0b \u00a0c\u2003\u2003d\u3000e\u0085f",
    "\u001cseparator\u001d\u200bzero width\ufeff",
    "Zwei Männer stehen am Herd und bereiten Essen zu. Größe, Straße, ÄÖÜ ẞ",
    "Ελληνικά: Ο Οδυσσέας, ΣΊΣΥΦΟΣ",
    "Съешь ещё этих мягких французских булок, да выпей чаю",
    "日本語のテキスト、漢字とカタカナ。한국어 문장 中文",
    "עברית العربية १२३ ٤٥٦ x² ½ Ⅷ ①",
    "emoji 😀👩‍👩‍👧 🏳️‍🌈 flags 🇩🇪",
    "e\u0301 combining, a\u0308o\u0308, नमस्ते",
    "if (x != 0) { return x->y[3] += 0x1F; } // C++20",
    "3.14159 1,000,000 12th 2nd x1y2",
    "ʼn ǅ ª º ʰ ꟲ 𝒜𝟘 𐍈",
    "<|endoftext|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "pneumonoultramicroscopicsilicovolcanoconiosis supercalifragilisticexpialidocious",
    "\u0000\u0001\u007f\u0080\u00ad",
]


def main():
    folder = pathlib.Path(sys.argv[1])
    ranks = data_gym_to_mergeable_bpe_ranks(str(folder / "vocab.bpe"), str(folder / "encoder.json"))
    encoding = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    cases = [
        {"text": t, "pieces": regex.findall(PATTERN, t), "ids": encoding.encode_ordinary(t)} for t in TEXTS
    ]
    target = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/golden/gpt2_ids.json"
    lines = ",\n".join(json.dumps(case, separators=(", ", ": ")) for case in cases)
    target.write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
