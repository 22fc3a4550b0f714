#!/usr/bin/env python3
"""Writes the files a fuzz target starts from: scripts/fuzz_seeds.py TARGET FOLDER (for scripts/fuzz_pictures.sh)."""
import io
import json
import pathlib
import sys
import tarfile


def seeds(target):
    root = pathlib.Path(__file__).resolve().parent.parent
    if target == "tar":
        for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
                for name in ("a.jpg", "a.cls", "long/" * 15 + "n" * 60 + ".png"):
                    member = tarfile.TarInfo(name)
                    member.size = 5
                    tar.addfile(member, io.BytesIO(b"bytes"))
            yield out.getvalue()
    elif target == "shard_index":
        yield (b"mpt-train shards 1\nclasses 2\ncat\ndog\nshard train-000000.tar 10240 3610a686 2\n"
               b"512 1833 0\n3584 2210 1\nend 2 55bc801d\n")
    else:
        for file in json.loads((root / "tests/golden/pictures.json").read_text())["files"]:
            if file["name"].startswith(target):
                yield bytes.fromhex(file["file"]) + bytes([0, 0, 255, 255, 0, 0])


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for i, data in enumerate(seeds(target)):
        (folder / f"seed{i}").write_bytes(data)


if __name__ == "__main__":
    main()
