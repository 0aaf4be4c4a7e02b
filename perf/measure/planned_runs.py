"""Runs of a program with and without channels, in turn.

    run = start(2, "off", [program, "--quick"], timeout=60)     # Run(figures={("md_ordinary", 1536, 1): 9.1}, here=0, ...)
    with plan_of_all_keys() as file: start(2, f"plan:{file}", ...)
    pairs = in_turn(rounds, {"without": ..., "with": ...})      # {"without": [Run, ...], "with": [Run, ...]}

A figure is the least of the repetitions that the program reports, because other programs on the machine only add to it.
"""
import contextlib
import json
import os
import re
import tempfile
import time
from dataclasses import dataclass

from . import build, job

EVERY = "lfc-plan version=2 ranks=any program=any digest=any\nopen every\n"


class Failed(Exception):
    """A run that gave no figures."""


@dataclass(frozen=True)
class Run:
    figures: dict  # {(bench, bytes, depth): figure}; of a program that prints none, the seconds of the job
    here: int  # messages that receives got by channels
    refusal: str  # why the plan was not used


def figures(text):
    """Returns the figures in the output of mpi_bench, or of a program in perf/apps."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith('{"bench"')]
    return {(data["bench"], data["size"], data["depth"]): data["min"] for data in found if "min" in data}


def here(text):
    """Returns the messages that all ranks got by channels, from the lines of coll_lfc_stats."""
    return sum(int(number) for number in re.findall(r"^lfc-channels rank=\d+ .*\bhere=(\d+)", text, re.MULTILINE))


def refusal(text):
    found = re.search(r"coll lfc: coll_lfc_channels \S+: (.*)", text)
    return found.group(1) if found else ""


def mpirun(ranks, setting):
    command = ["mpirun", "-n", str(ranks), "--mca", "pml", "ob1", "--mca", "btl", "lfc", "--mca", "coll_lfc_stats", "1", "--mca", "coll_lfc_channels", setting]
    components = build.component_directory(None)
    if components:
        command += ["--mca", "mca_base_component_path", f"{components}:SYS_DEFAULT"]
    return command + (["--oversubscribe"] if ranks > (os.cpu_count() or 1) else [])


def start(ranks, setting, program, timeout):
    begin = time.monotonic()
    done = job.run(mpirun(ranks, setting) + program, timeout)
    seconds = time.monotonic() - begin
    if done.code != 0:
        raise Failed(f"coll_lfc_channels {setting}: {done.last_words()}")
    return Run(figures(done.out) or {("seconds of the job", 0, 1): seconds}, here(done.err), refusal(done.err))


def in_turn(rounds, runs):
    """Calls the functions {name: run} in turn; every second round has the reverse order. Returns {name: [run(), ...]}."""
    results = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in list(runs.items())[:: -1 if number % 2 else 1]:
            results[name].append(run())
    return results


@contextlib.contextmanager
def plan_of_all_keys():
    with tempfile.NamedTemporaryFile("w", prefix="lfc-", suffix=".plan", encoding="ascii") as file:
        file.write(EVERY)
        file.flush()
        yield file.name
