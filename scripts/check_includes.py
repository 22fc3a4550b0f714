#!/usr/bin/python3
"""Checks that dependencies point down: every #include of app/ and lib/ against the table of rooms below.

    scripts/check_includes.py [ROOT]

Prints one line a fault; exit 1 when there is any. Also: a pass asks the op and never names it, so no string
and no identifier of lib/passes may be the name of an op (what passes need themselves, the op table gives by role).
"""
import pathlib
import re
import sys

# room -> rooms it may include besides itself
ROOMS = {
    "core": set(),
    "config": {"core"},
    "graph": {"core"},
    "backends": {"core"},
    "dataset": {"core"},
    "metrics": {"core"},
    # Pure functions: the rules of optimizers, schedules and the loss scale. The update ops carry them out.
    "optim": {"core", "config", "graph", "backends"},
    "ops": {"core", "graph", "backends", "optim"},
    "layers": {"core", "graph", "ops", "optim"},
    "models": {"core", "config", "graph", "ops", "optim", "layers"},
    "passes": {"core", "config", "graph"},
    "plan": {"core", "graph", "backends"},
    "exec": {"core", "graph", "backends", "plan"},
    # What a graph costs on a device, of the table or at hand; knows the ops that hold matrix products.
    "forecast": {"core", "graph", "backends", "ops", "plan"},
    "generate": {"core", "graph", "backends", "dataset", "ops", "models", "passes", "plan", "exec"},
}
ROOMS["train"] = set(ROOMS)
ROOMS["report"] = {"core"}  # pictures and pages from what runs wrote down
ROOMS["study"] = set(ROOMS)
ROOMS["app"] = set(ROOMS)

# header -> where it may be included
THIRD_PARTY = {
    r"CLI/": r"app/",
    r"yaml-cpp/": r"lib/config/",
    r"dnnl": r"lib/backends/cpu/onednn_",
    r"libxsmm": r"lib/backends/cpu/conv_",
    r"cu(da|dnn|blas)": r"lib/backends/cuda/|tests/gpu/",
    r"spdlog/": r"lib/(metrics|train)/|app/",
    r"nlohmann/": r"lib/(metrics|train|dataset|report|study)/|app/",
    r"sentencepiece": r"lib/dataset/text/sentencepiece_",
    r"(jpeglib|jerror|png)\.h": r"lib/dataset/pictures/(jpeg|png)_|tests/",
    r"webp/": r"lib/dataset/pictures/webp_|tests/",
    r"catch2/": r"tests/",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def room_of(path):
    parts = path.split("/")
    return "app" if parts[0] == "app" else parts[1] if len(parts) > 2 and parts[0] == "lib" else None


def include_faults(path, text):
    room = room_of(path)
    if room not in ROOMS:
        yield f"{path}: '{room}' is no room of the table in scripts/check_includes.py"
        return
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
        header = match[2]
        if match[1] == '"':
            target = header.split("/")[0]
            if "/" not in header or target not in ROOMS:
                continue  # beside the file, or generated
            if target != room and target not in ROOMS[room]:
                allowed = ", ".join(sorted(ROOMS[room])) or "nothing"
                yield f'{where}: {room} may not include "{header}" (it may include {allowed})'
        for prefix, allowed_place in THIRD_PARTY.items():
            if header.startswith(prefix) and not re.match(allowed_place, path):
                yield f"{where}: <{header}> may only be included in {allowed_place.rstrip('/')}"


def named_ops(path, text, ops):
    """A name with an underscore is distinctive as a word; a short one (`relu`) only as a string."""
    strings = []

    def blank(match):
        if match[0].startswith('"'):
            strings.append((match.start(), match[0][1:-1]))
        return re.sub(r"[^\n]", " ", match[0])

    code = COMMENT_OR_STRING.sub(blank, INCLUDE.sub(lambda m: " " * len(m[0]), text))
    words = [(m.start(), m[0]) for m in re.finditer(r"\w+", code) if "_" in m[0]]
    for position, word in strings + words:
        if word in ops:
            yield f"{path}:{text.count(chr(10), 0, position) + 1}: a pass names the op '{word}'; it should ask the op"


def faults(root):
    ops = {p.name for p in (root / "lib/ops").glob("*/") if p.is_dir()}
    found = []
    for folder in ("app", "lib"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".in"):
                continue
            name = path.relative_to(root).as_posix()
            text = path.read_text()
            found += include_faults(name, text)
            if name.startswith("lib/passes/"):
                found += named_ops(name, text, ops)
    return found


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = faults(root)
    print("\n".join(found) if found else "check_includes: dependencies point down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
