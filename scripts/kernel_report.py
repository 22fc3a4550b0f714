#!/usr/bin/python3
"""Lines of scripts/kernel_report.sh for one file: kernel_report.py SOURCE PTXAS_LOG CUBIN PTX
Exit 1: a kernel spills, or one of those that move most of a step's data has no access of 16 bytes."""
import pathlib
import re
import shutil
import subprocess
import sys

source, log, cubin, ptx = sys.argv[1:]

# Kernels that must read or write 16 bytes at a time, as patterns of their names; a file's every pattern is to be found.
WIDE = {
    "adam_update": ["update_kernel"],
    "add_layer_norm": [r"norm_forward_kernel<\d+, [248],", r"norm_backward\w*_kernel<\d+, [248],"],
    "batch_norm": [r"column_partials_kernel<[48],", "map_channels_kernel<.*f16"],
    "cast": ["map_kernel<.*f16"],
    "channel_affine": ["map_channels_kernel<.*f16"],
    "channel_reductions": [r"column_partials_kernel<[48],", "map_channels_kernel<.*f16"],
    "gelu": ["map_kernel<Gelu<", "map_kernel<GeluBackward<"],
    "gradient_check": ["squares_kernel"],
    "layer_norm": [r"norm_forward_kernel<\d+, [248],", r"norm_backward\w*_kernel<\d+, [248],"],
    "max_pool": [r"(for|back)ward_kernel<[48],"],
    "relu": ["map_kernel<.*f16"],
}


def short(mangled):
    demangled = subprocess.run(["c++filt", mangled], capture_output=True, text=True).stdout.strip()
    demangled = demangled.replace("(anonymous namespace)::", "").replace("mpt::gpu::cuda::", "").replace("mpt::", "")
    return re.sub(r"^void ", "", demangled.split("(", 1)[0])


# 128-bit accesses a kernel: of the machine code where a disassembler is there, or else of PTX, which ptxas keeps.
wide = {}
if not shutil.which("cuobjdump"):
    current = None
    for line in pathlib.Path(ptx).read_text().splitlines():
        if match := re.search(r"\.entry (\w+)", line):
            current = match[1]
            wide[current] = 0
        elif current and re.search(r"\b(ld|st)\.global\S*\.(v4\.\w32|v2\.\w64)\b", line):
            wide[current] += 1
else:
    current = None
    for line in subprocess.run(["cuobjdump", "-sass", cubin], capture_output=True, text=True).stdout.splitlines():
        if "Function :" in line:
            current = line.split(":", 1)[1].strip()
            wide[current] = 0
        elif current and re.search(r"\b(LD|ST)G\.E\S*\.128", line):
            wide[current] += 1

wanted = WIDE.get(pathlib.Path(source).stem.removesuffix("_cuda"), [])
found = set()
failed = False
kernel, spilled = None, 0
for line in pathlib.Path(log).read_text().splitlines():
    if match := re.search(r"Function properties for (\S+)", line):
        kernel = match[1]
    elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
        spilled = int(match[1]) + int(match[2])
    elif (match := re.search(r"Used (\d+) registers", line)) and kernel:
        shared = re.search(r"(\d+) bytes smem", line)
        failed |= spilled > 0
        patterns = {pattern for pattern in wanted if re.search(pattern, short(kernel))}
        found |= patterns
        narrow = bool(patterns) and not wide.get(kernel)
        failed |= narrow
        print(f"{pathlib.Path(source).name:<44} {match[1]:>5} {spilled:>7} {shared[1] if shared else 0:>8} "
              f"{wide.get(kernel, '-'):>9}  {short(kernel)[:90]}{'  NO ACCESS OF 16 BYTES' if narrow else ''}")
        kernel = None
for pattern in sorted(set(wanted) - found):
    print(f"{pathlib.Path(source).name}: no kernel is called {pattern}, which scripts/kernel_report.py looks for")
    failed = True
sys.exit(1 if failed else 0)
