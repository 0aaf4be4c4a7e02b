"""The program behind scripts/test, which describes the options."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import machine
import plan
import table
import total
import unsteady
from again import Again
from durations import Durations
from guests import Guests
from load import Load
from parts import part
from repeat import repeat
from report import Report, say
from runner import Runner
from schedule import Schedule
from stillness import Stillness

TREE = Path(__file__).parents[2]
LOGS = Path(os.environ.setdefault("LFC_BUILD", str(TREE / "build"))) / "test-logs"


def die(reason: str) -> None:
    print(f"test: {reason}", file=sys.stderr)
    sys.exit(1)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/test", add_help=False, allow_abbrev=False)
    parser.error = die
    parser.add_argument("--quick", dest="level", action="store_const", const="quick", default="full")
    parser.add_argument("--nightly", dest="level", action="store_const", const="nightly")
    parser.add_argument("--with-ompi5", action="store_true")
    parser.add_argument("--smoke-ompi5", action="store_true")
    parser.add_argument("--only", nargs="+", action="extend", default=[])
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--patience", type=int, default=1)
    parser.add_argument("--no-setup", action="store_true")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--plan", type=int, default=0)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        die(f"unknown option '{unknown[0]}' (see --help)")
    for name, least, most in (("patience", 1, 99), ("repeat", 0, 9999), ("load", 0, 99), ("cores", 1, 999), ("plan", 0, 999)):
        if not least <= getattr(options, name) <= most:
            die(f"--{name} must be {max(least, 1)} to {most}, not '{getattr(options, name)}'")
    which = re.fullmatch(r"(\d{1,2})/(\d{1,2})", options.part)
    if not which or not 1 <= int(which[1]) <= int(which[2]):
        die(f"--part must be K/N with K from 1 to N, and N at most 99, not '{options.part}'")
    options.part = (int(which[1]), int(which[2]))
    return options


def chosen(tests: list[table.Test], durations: Durations, options: argparse.Namespace) -> list[table.Test]:
    """Returns the tests of the requested levels, names and part."""
    levels = {"quick": ("quick",), "full": ("quick", "full"), "nightly": ("quick", "full", "nightly")}[options.level]
    if options.with_ompi5:
        levels += ("ompi5", "ompi5-all")
    elif options.smoke_ompi5:
        levels += ("ompi5",)
    patterns = options.only or ["*"]
    tests = [test for test in tests if test.level in levels]
    tests = [test for test in tests if any(fnmatchcase(test.name, pattern) for pattern in patterns)]
    if not tests:
        die(f"no test is called '{' '.join(options.only)}' (--list shows the names)")
    tests = part(tests, *options.part, durations.expected)
    if not tests:
        die(f"there are too few tests for part {options.part[0]} of {options.part[1]}")
    return tests


def on_signal(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def of_parts(report: Report, number: tuple[int, int]) -> list[str]:
    """Keeps the results of a part, and returns a line of all parts so far."""
    if number[1] == 1:
        return []
    revision = total.revision_of(TREE)
    total.write(LOGS, number, report.part(revision))
    return [total.summary(LOGS, number[1], revision)]


def run(
    tests: list[table.Test],
    kinds: Path,
    known: dict[tuple[str, str], str],
    durations: Durations,
    options: argparse.Namespace,
) -> bool:
    # The tests of one run share this folder, which records finished builds. The run has a lab and boxes of its own.
    state = tempfile.mkdtemp(prefix="lfc-test.")
    lab = f"test{os.getpid()}"
    os.environ |= {"LFC_TEST_STATE": state, "LFC_LAB": lab}
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    for number in signals:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, on_signal)
    stillness, report = Stillness(), Report()
    stillness.start()
    runner = Runner(kinds, LOGS, options.patience)
    guests = Guests(lab, tests * max(options.repeat, 1))
    again = Again(runner, report, stillness, guests, known)
    schedule = Schedule(tests, options.cores, durations.seconds)
    try:
        with Load(options.load):
            if options.repeat:
                repeat(tests, options.repeat, runner, report, guests)
            else:
                again.run(tests, schedule, options.keep_going, options.once)
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        report.interrupted(runner.interrupt())
        subprocess.run([TREE / "scripts/lab", "down"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        guests.down()
        shutil.rmtree(state, ignore_errors=True)
        report.write(LOGS / "junit.xml", durations)
        say(*again.summary(), stillness.summary(), *of_parts(report, options.part), report.summary())
    return not report.failed()


def main() -> None:
    options = parse(sys.argv[1:])
    suite = Path(os.environ.get("LFC_SUITE", TREE / "tests"))
    try:
        all_tests = table.read(suite / "suite.table", TREE)
        known = unsteady.read(suite / "unsteady.table", {test.name: test for test in all_tests})
        durations = Durations(suite / "durations.table", LOGS / "durations.table")
    except table.Wrong as wrong:
        die(str(wrong))
    tests = chosen(all_tests, durations, options)
    if options.list:
        print(*(test.name for test in tests), sep="\n")
        return
    if options.plan:
        schedule = Schedule(tests, options.plan, durations.seconds)
        print(*plan.lines(schedule, lambda test: durations.on(test, options.plan), options.plan), sep="\n")
        return
    ompi5 = "all" if options.with_ompi5 else "some" if options.smoke_ompi5 else ""
    if not options.no_setup:
        groups = ["build", "test", "apps", "lab", "rdma"] + (["chroot"] if ompi5 else [])
        if subprocess.run([TREE / "scripts/setup", *groups]).returncode:
            sys.exit(1)
    say(f"test: {len(tests)} tests, {options.level}{ompi5 and ', Open MPI 5: ' + ompi5}, on {options.cores} cores")
    say(*machine.describe())
    sys.exit(0 if run(tests, suite / "kinds.sh", known, durations, options) else 1)


main()
