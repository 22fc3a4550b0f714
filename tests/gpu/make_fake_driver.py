#!/usr/bin/env python3
"""Writes the C source of a CUDA driver that is not there: make_fake_driver.py STUB_LIBCUDA OUTPUT.c
Every function of the toolkit's stub library refuses, but for those that cuDNN needs while it compiles an engine.
With it cuDNN plans engines it compiles at run time on a machine without a GPU; nothing can be run."""
import subprocess
import sys

stub, output = sys.argv[1:]
# These hand out a pointer that nobody follows.
GIVES_A_POINTER = {"cuLibraryLoadData", "cuLibraryGetKernel", "cuLibraryGetModule", "cuKernelGetFunction",
                   "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuModuleGetFunction"}
SUCCEEDS = {"cuInit", "cuLibraryUnload", "cuModuleUnload", "cuKernelSetAttribute", "cuFuncSetAttribute"}
NO_DEVICE = 100

listing = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True).stdout
names = sorted({fields[-1].split("@")[0] for fields in map(str.split, listing.splitlines()) if fields[1] == "T"})
with open(output, "w") as file:
    for name in names:
        if name in GIVES_A_POINTER:
            file.write(f"int {name}(void** to) {{ *to = (void*)4096; return 0; }}\n")
        else:
            file.write(f"int {name}(void) {{ return {0 if name in SUCCEEDS else NO_DEVICE}; }}\n")
