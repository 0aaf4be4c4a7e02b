"""The common steps of all comparisons of transports.

They read arguments, bring up the lab, start ranks, prove the path, and write the results.

    comparison.add_arguments(parser, rounds=9, timeout=300)
    with comparison.lab(options):
        present, proof, _ = comparison.probe(start, wanted, program, ranks)
        ...
        comparison.write("compare", sitting, names, options, proof, blocks)
"""
import contextlib
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from . import build, job, programs, report, transports


def add_arguments(parser, rounds, timeout):
    """Adds the arguments for rounds, lab, results and limits; the caller gives the defaults."""
    add = parser.add_argument
    add("--pairs", type=int, default=rounds, metavar="N", help=f"rounds ({rounds})")
    add("--lab", action="store_true", help="between nodes of scripts/lab, not on this node")
    add("--hosts", type=int, default=2, help="nodes of the lab, if it must be brought up (2)")
    add("--rails", type=int, default=1, help="rails of the lab, if it must be brought up (1)")
    add("--rate", help="rate of the lab's rails, e.g. 1gbit")
    add("--out", metavar="DIR", help="folder for the results (build/perf)")
    add("--component-dir", metavar="DIR", help="folder of mca_btl_lfc.so (default: found in build/*, else the installed one)")
    add("--max-load", type=float, default=0.1, metavar="CORES", help="cores that other processes may use (0.1)")
    add("--patience", type=float, default=60, metavar="SECONDS", help="how long to wait for quiet (60)")
    add("--force", action="store_true", help="report although the machine is busy; every table says so")
    add("--timeout", type=float, default=timeout, metavar="SECONDS", help=f"for one run ({timeout})")


@contextlib.contextmanager
def lab(options):
    """A context in which the lab is up; a lab that was not up before is taken down at the end."""
    script = str(build.TREE / "scripts" / "lab")
    if not options.lab:
        yield
        return
    if subprocess.run([script, "status"], capture_output=True, check=False).returncode == 0:
        yield
        return
    os.environ.setdefault("LFC_LAB", f"perf{os.getpid()}")
    extra = ["--rate", options.rate] if options.rate else []
    # If there are enough processors, each host has its own. Otherwise a host would take a busy processor for idle.
    if options.hosts <= len(os.sched_getaffinity(0)):
        extra.append("--cores")
    up = [script, "up", str(options.hosts), "--rails", str(options.rails), *extra]
    if subprocess.run(up, stdout=sys.stderr, check=False).returncode != 0:
        sys.exit(1)
    try:
        yield
    finally:
        subprocess.run([script, "down"], stdout=sys.stderr, check=False)


def mpirun(options):
    """Returns the command that starts the ranks, one per core as far as there are cores."""
    if options.lab:
        return [str(build.TREE / "scripts" / "lab"), "mpirun", "-n", str(options.ranks)]
    if options.ranks <= len(os.sched_getaffinity(0)):
        return ["mpirun", "-n", str(options.ranks), "--bind-to", "core"]
    yielding = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return ["mpirun", "-n", str(options.ranks), *yielding]


def probe_program(bench_path):
    """The program that probe() runs."""
    return programs.mpi_bench(bench_path, ["latency:8"], 0.005, 3)


def probe(start, wanted, program, ranks):
    """Tries each transport once, untimed. Returns ([transport that works], {name: proof or why not}, slowest start)."""
    present, proof, slowest = [], {}, 0.0
    for transport in wanted:
        began = time.monotonic()
        talkative = transports.Transport(
            transport.name, transport.arguments + transports.SHOW_SELECTION, transport.expected, transport.lfc
        )
        done = start(talkative, program)
        output = done.err + "\n" + done.out
        evidence = transports.taken(output)
        problem = None if done.code == 0 else f"absent: {done.last_words()}"
        problem = problem or transport.problem(evidence)
        if not problem and transport.lfc:
            counters = transports.lfc_counters(output)
            problem = transports.lfc_problem(counters, ranks)
            evidence["frames"] = {str(rank["frames_sent"]) for rank in counters.values()}
            evidence["links"] = {rank.get("links", "?") for rank in counters.values()}
        shown = "; ".join(f"{kind} {', '.join(sorted(found))}" for kind, found in evidence.items())
        proof[transport.name] = problem or shown
        if not problem:
            present.append(transport)
            slowest = max(slowest, time.monotonic() - began)
    return present, proof, slowest


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release()}


def mpi_version():
    done = job.run(["mpirun", "--version"], 30)
    return done.out.splitlines()[0] if done.out else "unknown"


def busy_note(sitting, options):
    """Returns the remark for every table of a machine that other processes have used, or an empty text."""
    _, highest = sitting.load_summary()
    if highest <= options.max_load:
        return ""
    return f" -- FORCED ON A BUSY MACHINE, NOT A RESULT (up to {highest:.2f} cores used by others)"


def default_out(options):
    return Path(options.out) if options.out else build.ROOT / "perf"


def write(name, sitting, names, options, proof, blocks, counts=None):
    """Prints the proofs and the blocks, and writes them and every value to NAME.txt and NAME.jsonl.

    `counts` are the results of measure/counting.py for each transport.
    """
    median, highest = sitting.load_summary()
    note = busy_note(sitting, options)
    if note:
        blocks = ["\n".join(line + note if line and line[0] != " " else line for line in b.splitlines()) for b in blocks]
    head = [f"{name}: {text}" for name, text in proof.items()]
    head += [f"not measured: {program} over {name}: {why}" for (name, program), why in sitting.failures.items()]
    load = f"median {median:.2f}, highest {highest:.2f} cores"
    head.append(f"load by others while measuring: {load}; {sitting.disturbed} rounds repeated")
    text = "\n".join(head) + "\n\n" + "\n\n".join(block for block in blocks if block) + "\n"
    header = {
        name: 1, "transports": names, "ranks": options.ranks, "pairs": options.pairs, "lab": options.lab,
        "mpi": mpi_version(), **machine(), "proof": proof, "load_median": median, "load_highest": highest,
        "busy": bool(note), "disturbed_rounds": sitting.disturbed, "raised_session": job.quiet_session_works(),
        "failures": [{"transport": t, "program": p, "why": why} for (t, p), why in sitting.failures.items()],
        "lfc_counters": sitting.counters, "counts": counts or {},
    }  # fmt: skip
    out = default_out(options)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.txt").write_text(text, encoding="utf-8")
    (out / f"{name}.jsonl").write_text(report.json_lines(sitting.values, sitting.units, names, header), encoding="utf-8")
    print(text)
    print(f"written to {out}")
