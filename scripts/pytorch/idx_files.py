"""IDX files: what Fashion-MNIST comes in, and what the comparisons write for both sides to read."""
import gzip
import pathlib
import struct

import numpy as np

FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read(path):
    raw = gzip.open(path).read() if str(path).endswith(".gz") else pathlib.Path(path).read_bytes()
    dimensions = raw[3]
    shape = struct.unpack_from(f">{dimensions}I", raw, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def fashion_mnist(split):
    """(images u8 [N,28,28,1], labels u8 [N]); split is train or t10k."""
    images = read(FASHION_MNIST / f"{split}-images-idx3-ubyte.gz")
    return images[..., None], read(FASHION_MNIST / f"{split}-labels-idx1-ubyte.gz")


def write(path, array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    pathlib.Path(path).write_bytes(header + np.ascontiguousarray(array, np.uint8).tobytes())


def write_set(folder, images, labels):
    """A data set that mpt-train reads as data.type idx; the same samples as training and as test set."""
    images = images[..., 0] if images.shape[3] == 1 else images
    for split in ("train", "t10k"):
        write(folder / f"{split}-images-idx{images.ndim}-ubyte", images)
        write(folder / f"{split}-labels-idx1-ubyte", labels)
