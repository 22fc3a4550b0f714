"""Runs a process and says what it took, and what others took of the machine meanwhile."""
import dataclasses
import os
import subprocess
import tempfile
import time

# Tuned PyTorch: huge pages, and freed memory is kept; otherwise every step faults its memory in anew.
TUNED_MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
                                  "glibc.malloc.trim_threshold=17179869184"}


@dataclasses.dataclass
class Finished:
    returncode: int
    output: str
    errors: str
    seconds: float
    peak_rss_mib: float
    foreign_cpus: float  # cores kept busy by others
    stolen_cpus: float   # cores that the host took from this machine


def _machine_seconds():
    """(busy, stolen) CPU seconds of all cores since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, stolen = (int(x) for x in file.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, stolen / tick


def run(command, environment=None):
    busy, stolen = _machine_seconds()
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(word) for word in command], env={**os.environ, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        try:
            # wait4 alone tells what this one child used; it takes the place of process.wait().
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        busy_after, stolen_after = _machine_seconds()
        output.seek(0)
        errors.seek(0)
        own = usage.ru_utime + usage.ru_stime
        return Finished(process.returncode, output.read(), errors.read(), seconds, usage.ru_maxrss / 1024,
                        max(0.0, busy_after - busy - own) / seconds, (stolen_after - stolen) / seconds)


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"
