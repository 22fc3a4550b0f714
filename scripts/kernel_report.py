#!/usr/bin/python3
"""Lines of scripts/kernel_report.sh for one file: kernel_report.py SOURCE PTXAS_LOG CUBIN"""
import pathlib
import re
import shutil
import subprocess
import sys

source, log, cubin = sys.argv[1:]


def short(mangled):
    demangled = subprocess.run(["c++filt", mangled], capture_output=True, text=True).stdout.strip()
    demangled = demangled.replace("(anonymous namespace)::", "").replace("mpt::gpu::cuda::", "").replace("mpt::", "")
    return re.sub(r"^void ", "", demangled.split("(", 1)[0])


# 128-bit accesses a kernel, where a disassembler is there.
wide = {}
if shutil.which("cuobjdump"):
    current = None
    for line in subprocess.run(["cuobjdump", "-sass", cubin], capture_output=True, text=True).stdout.splitlines():
        if "Function :" in line:
            current = line.split(":", 1)[1].strip()
            wide[current] = 0
        elif current and re.search(r"\b(LD|ST)G\.E\S*\.128", line):
            wide[current] += 1

spilled_any = False
kernel, spilled = None, 0
for line in pathlib.Path(log).read_text().splitlines():
    if match := re.search(r"Function properties for (\S+)", line):
        kernel = match[1]
    elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
        spilled = int(match[1]) + int(match[2])
    elif (match := re.search(r"Used (\d+) registers", line)) and kernel:
        shared = re.search(r"(\d+) bytes smem", line)
        spilled_any |= spilled > 0
        print(f"{pathlib.Path(source).name:<44} {match[1]:>5} {spilled:>7} {shared[1] if shared else 0:>8} "
              f"{wide.get(kernel, '-'):>9}  {short(kernel)[:90]}")
        kernel = None
sys.exit(1 if spilled_any else 0)
