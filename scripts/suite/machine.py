"""Two lines that describe the machine to the reader of a log."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path


def _first_line(*command: str) -> str:
    if not shutil.which(command[0]):
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return (done.stdout.splitlines() or ["none"])[0]


def _content(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def _processor() -> str:
    model = re.search(r"^model name\s*: (.*)$", _content("/proc/cpuinfo"), re.M)
    return model.group(1) if model else platform.machine()


def _huge_pages() -> str:
    chosen = re.search(r"\[(\w+)\]", _content("/sys/kernel/mm/transparent_hugepage/enabled"))
    return chosen.group(1) if chosen else "unknown"


def _version(line: str) -> str:
    number = re.search(r"\d+(\.\d+)+\S*", line)
    return number.group(0) if number else line


def describe() -> list[str]:
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    congestion = _content("/proc/sys/net/ipv4/tcp_congestion_control")
    versions = {
        "libfabric": _first_line("pkg-config", "--modversion", "libfabric"),
        "Open MPI": _first_line("mpirun", "--version"),
        "gcc": _first_line("gcc", "-dumpfullversion"),
    }
    listed = ", ".join(f"{name} {_version(line)}" for name, line in versions.items())
    return [
        f"machine: {_processor()}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, load {load}",
        f"machine: huge pages {_huge_pages()}, TCP {congestion}, {listed}",
    ]
