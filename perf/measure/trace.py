"""The cost of a message, counted and not timed: instructions by callgrind, system calls by strace.

Both are differences between a run with few and one with many messages, so that start and end cancel out.
"""
import re
import tempfile
from pathlib import Path

FEW, MANY, BURST = 100, 600, 8


class Untraceable(Exception):
    """The traced program did not run, or the tracer printed nothing."""


def parse_callgrind(text):
    """Returns the instructions collected, from a callgrind.out file."""
    found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    if not found:
        raise Untraceable("callgrind counted nothing")
    return int(found.group(1))


def parse_strace(text):
    """Returns {system call: number of calls}, from the table of strace -c."""
    calls = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[3].isdigit() and re.fullmatch(r"[\d.]+", words[0]) and words[-1] != "total":
            calls[words[-1]] = calls.get(words[-1], 0) + int(words[3])
    if not calls:
        raise Untraceable("strace counted nothing")
    return calls


def _checked(done):
    if done.code != 0 or done.timed_out:
        raise Untraceable(done.last_words())


# Each operation has a benchmark, and the MPI calls that it makes on the traced rank. The benchmark makes no other calls
# of these names.
OPERATIONS = {
    "put, flush": ("put:8", ("MPI_Put", "MPI_Win_flush")),
    "get, flush": ("get:8", ("MPI_Get", "MPI_Win_flush")),
    "fetch-and-add, flush": ("fetch_add:8", ("MPI_Fetch_and_op", "MPI_Win_flush")),
    "put-notify": ("notified:8", ("MPIX_Put_notify",)),
    "bcast": ("bcast_gap:8", ("MPI_Bcast",)),
}


def _count(run, arguments, program, functions, rank):
    """Returns the instructions that one of the two ranks of `program` spends inside the functions."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        toggles = [f"--toggle-collect=*{function}" for function in functions]
        per_rank = [program, program]
        per_rank[rank] = ["valgrind", "--tool=callgrind", *toggles, f"--callgrind-out-file={out}", *program]
        _checked(run([*arguments, "-n", "1", *per_rank[0], ":", "-n", "1", *per_rank[1]]))
        return parse_callgrind(out.read_text(encoding="utf-8"))


def _each(count, units, looks):
    """Returns the instructions of one operation; a unit has `units` of them. Takes the least count of all looks."""
    most, least = (min(count(number) for _ in range(looks)) for number in (MANY, FEW))
    return (most - least) / ((MANY - FEW) * units)


def instructions(run, arguments, bench_path, size):
    """Returns (send, receive): instructions inside MPI_Send and MPI_Recv per message.

    `run(mpirun arguments)` starts a job of two ranks. One of them runs under valgrind: the sender for MPI_Send, the
    receiver for MPI_Recv. Waiting is not counted: the sender has room, and the messages have arrived.
    """

    def per_message(function, rank, looks):
        def count(units):
            program = [bench_path, "--pause", "0.003", "--units", str(units), "--bench", f"o_s:{size}@{BURST}"]
            return _count(run, arguments, program, [function], rank)

        return _each(count, BURST, looks)

    # On a busy machine a message may be late. Then the receiver's count contains some waiting.
    return per_message("MPI_Send", 0, 1), per_message("MPI_Recv", 1, 3)


def started(run, arguments, bench_path, size):
    """Returns (send, receive): instructions inside MPI_Start and MPI_Wait per message of persistent requests."""

    def per_message(bench, rank):
        def count(units):
            program = [bench_path, "--pause", "0.003", "--units", str(units), "--bench", f"{bench}:{size}@1"]
            return _count(run, arguments, program, ("MPI_Start", "MPI_Wait"), rank)

        return _each(count, 1, 3)

    return per_message("o_s_started", 0), per_message("o_r_started", 1)


def operation(run, arguments, bench_path, name):
    """Returns the instructions of one of OPERATIONS at the calling rank, with 8 B on an allocated window."""
    bench, functions = OPERATIONS[name]

    def count(units):
        program = [bench_path, "--allocate", "--units", str(units), "--bench", bench]
        return _count(run, arguments, program, functions, 0)

    # A broadcast may have to wait for a rank that is behind.
    return _each(count, 1, 3)


def system_calls(run, arguments, bench_path, size):
    """Returns {system call: calls per message}, of sender and receiver together, in a ping-pong that spins."""

    def count(units):
        with tempfile.TemporaryDirectory() as directory:
            tracer = f'exec strace -f -c -o "{directory}/$OMPI_COMM_WORLD_RANK" "$@"'
            program = [bench_path, "--units", str(units), "--bench", f"latency:{size}"]
            _checked(run([*arguments, "-n", "2", "sh", "-c", tracer, "sh", *program]))
            totals = {}
            for rank in ("0", "1"):
                for name, calls in parse_strace((Path(directory) / rank).read_text(encoding="utf-8")).items():
                    totals[name] = totals.get(name, 0) + calls
            return totals

    # The calls of start and end vary a little from run to run, so these runs have more messages.
    few, many = count(10 * FEW), count(10 * MANY)
    messages = 2 * 10 * (MANY - FEW)
    return {name: max(calls - few.get(name, 0), 0) / messages for name, calls in many.items()}
