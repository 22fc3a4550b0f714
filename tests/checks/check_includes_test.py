#!/usr/bin/python3
"""scripts/check_includes.py must find each kind of fault it is there for, and nothing else."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_includes  # noqa: E402

# file -> (text, faults expected in it)
TREE = {
    "lib/core/up.h": ('#include "graph/graph.h"\n', 1),
    "lib/core/same.h": ('#include "core/dtype.h"\n#include <vector>\n', 0),
    "lib/passes/op.cpp": ('#include "ops/batch_norm/batch_norm.h"\n', 1),
    "lib/plan/op.cpp": ('#include "graph/graph.h"\n\n#include "ops/relu/relu.h"\n', 1),
    "lib/exec/op.cpp": ('#include "ops/relu/relu.h"\n#include "plan/plan.h"\n', 1),
    "lib/passes/names.cpp": ('if (op == "relu") f();\nauto batch_norm = 1;\n', 2),
    "lib/passes/asks.cpp": ('// relu(batch_norm(x)) becomes one node, "relu"\nauto relu = g("a relu");\n', 0),
    "lib/passes/roles.cpp": ('op_table().roles.cast(builder, x);\nbuilder.node("cast");\n', 1),
    "lib/ops/relu/relu.cpp": ('#include "graph/op.h"\n#include "ops/relu/relu.h"\n#include <dnnl.hpp>\n', 1),
    "lib/ops/batch_norm/batch_norm.cpp": ('#include "config/run_config.h"\n', 1),
    "lib/ops/cast/cast.cpp": ("", 0),
    "lib/backends/cpu/onednn_a.cpp": ("#include <dnnl.hpp>\n#include <libxsmm.h>\n", 1),
    "lib/backends/cpu/conv_a.cpp": ("#include <libxsmm.h>\n", 0),
    "lib/config/read.cpp": ("#include <yaml-cpp/yaml.h>\n#include <CLI/CLI.hpp>\n", 1),
    "lib/train/all.cpp": ('#include "exec/executor.h"\n#include "ops/relu/relu.h"\n', 0),
    "lib/utils/x.h": ("", 1),
    "app/main.cpp": ('#include <CLI/CLI.hpp>\n#include "train/trainer.h"\n#include <yaml-cpp/yaml.h>\n', 1),
}


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, (text, _) in TREE.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = check_includes.faults(root)
        for name, (_, expected) in TREE.items():
            mine = [fault for fault in found if fault.startswith(name + ":")]
            if len(mine) != expected:
                print(f"{name}: {expected} faults expected, found {mine}")
                bad += 1
    print(f"{len(TREE) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
