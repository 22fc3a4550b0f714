"""Tokens for both sides of a loss curve: files that mpt-train reads, and the batches that it makes of them."""
import struct

import numpy as np

PADDING, UNKNOWN, BEGIN, END = range(4)  # of sentence pairs; words begin behind them
SHUFFLE = 2  # what random numbers are drawn for, as mpt-train numbers it
MASK_32, MASK_64 = 2**32 - 1, 2**64 - 1


def philox(key, high, low):
    """Four 32-bit numbers of Philox4x32-10 (Salmon et al. 2011)."""
    c0, c1, c2, c3 = low & MASK_32, low >> 32, high & MASK_32, high >> 32
    k0, k1 = key & MASK_32, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK_32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK_32
        k0, k1 = (k0 + 0x9E3779B9) & MASK_32, (k1 + 0xBB67AE85) & MASK_32
    return c0, c1, c2, c3


def window_starts(seed, step, rows, bound):
    """Where mpt-train lets the windows of an update begin: uniform in 0..bound-1."""
    key = seed ^ (SHUFFLE * 0x9E3779B97F4A7C15 & MASK_64)
    high = (step << 32) ^ (step >> 32) ^ 1
    words = [word for block in range((rows + 1) // 2) for word in philox(key, high, block)]
    return [((words[2 * row] | words[2 * row + 1] << 32) * bound) >> 64 for row in range(rows)]


def chain(count, vocabulary):
    """Tokens of which each is followed by one of four: there is something to learn, down to ln 4 nats."""
    random = np.random.default_rng(1)
    followers = random.integers(vocabulary, size=(vocabulary, 4))
    tokens = [0]
    for choice in random.integers(4, size=count - 1):
        tokens.append(int(followers[tokens[-1], choice]))
    return np.array(tokens)


def write_tokens(path, tokens):
    """A token file as nanoGPT's: 16 bits each and nothing else."""
    path.write_bytes(tokens.astype("<u2").tobytes())


def window_batch(tokens, seed, step, rows, length):
    """(inputs, targets), each [rows, length]."""
    starts = window_starts(seed, step, rows, len(tokens) - length)
    windows = np.stack([tokens[start:start + length + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def sentence_pairs(count, vocabulary, longest):
    """Random sentences of 3 words to `longest` ones; a translation has the next word of the vocabulary for each."""
    random = np.random.default_rng(2)
    first, num_words = END + 1, vocabulary - END - 1
    pairs = []
    for _ in range(count):
        source = random.integers(num_words, size=random.integers(3, longest + 1))
        pairs.append((first + source, first + (source + 1) % num_words))
    return pairs


def write_pairs(path, pairs):
    def line(side):
        return " ".join(f"w{word}" for word in side)
    path.write_text("".join(f"{line(source)}\t{line(target)}\n" for source, target in pairs))


def write_word_model(path, vocabulary):
    """A SentencePiece model (protocol buffer) that has a token for each word of write_pairs."""
    def field(number, payload):
        size = len(payload)
        assert size < 128  # else it takes a second byte
        return bytes([number << 3 | 2, size]) + payload

    def piece(text, kind):  # kind 1: normal, 2: unknown, 3: control
        return field(1, field(1, text.encode()) + struct.pack("<Bf", 2 << 3 | 5, 0.0) + bytes([3 << 3, kind]))

    special = [("<pad>", 3), ("<unk>", 2), ("<s>", 3), ("</s>", 3)]
    words = [(f"\u2581w{word}", 1) for word in range(len(special), vocabulary)]
    trainer = bytes([3 << 3, 3])  # model_type: words
    path.write_bytes(b"".join(piece(*entry) for entry in special + words) + field(2, trainer))


def pair_batch(pairs, step, rows, length):
    """(source, lengths of the source, decoder's input, targets); a target of -1 does not count."""
    source, given = np.full((2, rows, length), PADDING)
    targets = np.full((rows, length), -1)
    lengths = np.zeros(rows, int)
    for row, (words, translation) in enumerate(pairs[step * rows:(step + 1) * rows]):
        lengths[row] = len(words) + 1
        source[row, :len(words) + 1] = [*words, END]
        given[row, :len(translation) + 1] = [BEGIN, *translation]
        targets[row, :len(translation) + 1] = [*translation, END]
    return source, lengths, given, targets
