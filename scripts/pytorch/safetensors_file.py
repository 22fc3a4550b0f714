"""The safetensors format, as far as f32 weights need it: a length, a JSON header, raw bytes."""
import json
import pathlib
import struct

import numpy as np

TYPES = {"F32": np.float32, "I64": np.int64, "F64": np.float64, "I32": np.int32, "U8": np.uint8}


def write(path, tensors):
    """tensors: name -> numpy array."""
    names = {np.dtype(numpy_type): name for name, numpy_type in TYPES.items()}
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def read(path):
    raw = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]],
                                TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}
