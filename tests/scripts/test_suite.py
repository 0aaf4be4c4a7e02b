"""Parts of scripts/suite alone: excuses, reasons, tables, stand-stills, parts. For the schedule: test_schedule.py."""

import dataclasses
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/suite"))
import total
import unsteady
from durations import Durations
from excuses import never_excused
from outcome import Run
from parts import part
from stillness import Stillness
from table import WAITS, Test, Wrong, read
from watch import LATE, End


def a_test(name: str, seconds: int = 60, kind: str = "kind", needs: tuple[str, ...] = ()) -> Test:
    return Test(name, "quick", seconds, 1, (kind,), needs=needs)


class Excuses(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"

    def never(self, text: str, name: str = "mpi/ring.2", end: End = End(1)) -> str:
        self.log.write_text(text + "\n")
        return never_excused(Run(a_test(name), end, 0.0, 1.0, self.log))

    def test_of_a_sanitizer(self) -> None:
        for line in (
            "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
            "==12==ERROR: LeakSanitizer: detected memory leaks",
            "WARNING: ThreadSanitizer: data race (pid=12)",
            "common/engine/ni.cpp:12:3: runtime error: signed integer overflow",
        ):
            self.assertIn("sanitizer", self.never(line), line)

    def test_of_wrong_data(self) -> None:
        for line in (
            "FAIL mpi_ring rank 1 of 2 (seed 1): message from 0, 64 bytes: byte 7 is 00, not 01 (receive)",
            "FAIL rma_atomicity rank 0 of 4 (seed 9): counter is 999",
            "FAIL mpi_order rank 0 of 2 (seed 1): peer 1: message 4 came, 3 was next (8 bytes)",
            "  frame 12 is wrong",
            "  explicitly with message: frame 3 differs, size 8",
        ):
            self.assertIn("wrong", self.never(line), line)

    def test_of_a_signal(self) -> None:
        for line in (
            "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 11 (Segmentation fault).",
            "[a:12] *** Process received signal ***",
            "  due to a fatal error condition:",
            "tests/kinds.sh: line 64:  4711 Segmentation fault      (core dumped) lfc_unit",
            "Aborted (core dumped)",
        ):
            self.assertIn("a signal", self.never(line), line)
        for status in (-11, 134, 136, 138, 139):
            self.assertIn("a signal", self.never("nothing", end=End(status)))

    def test_of_a_build(self) -> None:
        for line in ("ninja: build stopped: subcommand failed.", "the build 'default' has failed before"):
            self.assertIn("a build", self.never(line), line)

    def test_by_name(self) -> None:
        for name in ("build", "asan/build", "asan/unit", "tsan/sim", "fuzz/20s", "sim/100", "small/mpi", "coll/stock.4"):
            self.assertTrue(self.never("nothing", name), name)
            self.assertTrue(self.never("TIME IS UP: it did not end", name, End(1, timed_out=True)), name)
        self.assertTrue(self.never("nothing", "check/format"))
        self.assertFalse(self.never("TIME IS UP: it did not end", "check/format", End(1, timed_out=True)))

    def test_may_be_excused(self) -> None:
        for line in (
            "FAILED: the job still runs after 10 s",
            "HANG mpi_ring rank 0 of 2, thread 0: receive of 64 bytes from 1",
            "FAIL neon_scenarios rank 0 of 8 (seed 1): put blocked for 0.2 s",
            "FAIL progress_late rank 0 of 3 (seed 1): row 'wait': served 14 times in 120 calls",
            "tests/unit/engine/ni_test.cpp:12: FAILED:",
            "late: a put took 0.2 s, bound 0.1 s",
        ):
            self.assertEqual(self.never(line), "", line)
        self.assertEqual(self.never("late: 4 times, bound 3", end=End(LATE)), "")
        self.assertTrue(self.never("late: 4 times, bound 3\nWARNING: ThreadSanitizer: data race", end=End(LATE)))

    def test_what_ends_a_hang_is_no_failure(self) -> None:
        stacks = "TIME IS UP: it did not end\nmpirun noticed that process rank 0 exited on signal 9 (Killed)."
        self.assertEqual(self.never(stacks, end=End(1, timed_out=True)), "")
        self.assertTrue(self.never("ERROR: AddressSanitizer: x\n" + stacks, end=End(1, timed_out=True)))

    def test_ranks_killed_on_purpose(self) -> None:
        line = "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed)."
        self.assertEqual(self.never(line, "fault/killed_rank"), "")
        self.assertTrue(self.never(line, "mpi/ring.2"))
        self.assertTrue(self.never(line.replace("9 (Killed)", "11 (Segmentation fault)"), "fault/killed_rank"))

    def test_the_reason_is_the_line_that_tells_most(self) -> None:
        for text, reason in (
            ("start\nFAILED: no line\n--- output\nend", "FAILED: no line"),
            ("FAIL x\nlate: 4 times, bound 3", "late: 4 times, bound 3"),
            ("FAIL x\nTIME IS UP: y\nstacks", "TIME IS UP: y"),
            ("one\n  two\n\n", "two"),
            ("", "exit code 1"),
        ):
            self.log.write_text(text)
            self.assertEqual(Run(a_test("x"), End(1), 0.0, 1.0, self.log).reason(), reason)


    def test_the_case_of_a_catch2_program(self) -> None:
        line = "-" * 79
        self.log.write_text(
            f"Randomness seeded to: 1\n\n~~~~~\nlfc_unit is a Catch2 host application.\n\n{line}\n"
            f"ring: a frame is whole\n  at the end\n{line}\na.cpp:1\n.....\n\na.cpp:3: FAILED:\n\n{line}\nother\n{line}\n"
        )
        run = Run(a_test("unit", kind="catch"), End(1), 0.0, 1.0, self.log)
        self.assertEqual(run.case(), "ring: a frame is whole")
        self.assertRegex(unsteady.row(run), r'^unit  \d{4}-\d\d-\d\d  "ring: a frame is whole": a.cpp:3: FAILED:$')


class Tables(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "some.table"

    def rows(self, text: str) -> dict[str, Test]:
        self.file.write_text(text)
        return {test.name: test for test in read(self.file, Path(__file__).parents[2])}

    def test_cores(self) -> None:
        head = "level seconds cores name kind ranks\n"
        tests = self.rows(head + "quick 9 ranks job.{ranks} k 2|4\nquick 9 3 three k 1\nquick 9 waits waits k 1\n")
        self.assertEqual([test.cores for test in tests.values()], [2, 4, 3, WAITS])
        tests = self.rows(head + "quick 9 all alone k 2\nquick 9 build builds k 2\n")
        self.assertTrue(tests["alone"].alone and not tests["alone"].builds)
        self.assertTrue(tests["builds"].builds and not tests["builds"].alone)
        for cores in ("some", "-1", "0.5"):
            with self.assertRaisesRegex(Wrong, "some.table:2: seconds are a number, cores a number"):
                self.rows(head + f"quick 9 {cores} a k 2\n")
        with self.assertRaisesRegex(Wrong, "some.table:2: seconds are a number, cores a number"):
            self.rows("level seconds cores name kind\nquick 9 ranks a k\n")

    def test_needs(self) -> None:
        head = "needs - free\nneeds build|x/build x/both\nneeds x/build x/*\nneeds build *\nlevel seconds cores name kind\n"
        tests = self.rows(head + "".join(f"quick 9 1 {name} k\n" for name in ("build", "x/build", "free", "x/a", "x/both", "a")))
        needs = {name: test.needs for name, test in tests.items()}
        self.assertEqual(needs["free"], ())
        self.assertEqual(needs["x/a"], ("x/build",))
        self.assertEqual(needs["x/both"], ("build", "x/build"))
        self.assertEqual(needs["a"], ("build",))
        self.assertEqual((needs["build"], needs["x/build"]), ((), ()))
        with self.assertRaisesRegex(Wrong, "some.table:1: there is no test 'y'"):
            self.rows("needs y a\nlevel seconds cores name kind\nquick 9 1 a k\n")

    def test_an_unsteady_catch2_program_names_a_case(self) -> None:
        tests = {"unit": a_test("unit", kind="catch"), "a": a_test("a")}
        self.file.write_text('unit  2026-01-02  "ring: it is whole": late\na  2026-01-03  late\n')
        self.assertEqual(
            unsteady.read(self.file, tests), {("unit", "ring: it is whole"): "2026-01-02", ("a", ""): "2026-01-03"}
        )
        self.file.write_text("unit  2026-01-02  late\n")
        with self.assertRaisesRegex(Wrong, "some.table:1: the reason does not begin with the case"):
            unsteady.read(self.file, tests)

    def test_durations(self) -> None:
        self.file.write_text("# A remark.\nlong  90\nx/build  60  100\n")
        last = self.file.with_name("last.table")
        last.write_text("long  70.5  3.0\n")
        durations = Durations(self.file, last)
        self.assertEqual(durations.seconds(a_test("long")), 70.5)
        self.assertEqual(durations.seconds(a_test("another")), 1)
        build = dataclasses.replace(a_test("x/build"), builds=True)
        self.assertEqual((durations.on(build, 8), durations.on(a_test("long"), 8)), (12.5, 70.5))
        durations.add(Run(a_test("another"), End(0, busy=1.5), 2.0, 6.0, self.file))
        durations.add(Run(a_test("failed"), End(1), 2.0, 6.0, self.file))
        durations.write()
        self.assertEqual(last.read_text(), "long  70.5  3.0\nanother  4.0  1.5\n")
        self.file.write_text("long  soon\n")
        with self.assertRaisesRegex(Wrong, "some.table:1: not a name, seconds"):
            Durations(self.file, last)


class Stillnesses(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 100.0
        self.asleep = 0.0  # seconds by which each sleep is longer
        self.stillness = Stillness(clock=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self.asleep

    def look(self, asleep: float) -> None:
        self.asleep = asleep
        self.stillness.look()

    def test_load_is_no_stillness(self) -> None:
        for asleep in (0.0, 0.5, 0.9):
            self.look(asleep)
        self.assertEqual(self.stillness.during(0, 1000), 0)
        self.assertEqual(self.stillness.summary(), "the machine stood still: never")

    def test_a_short_one_is_told_and_excuses_nothing(self) -> None:
        self.look(3)
        self.assertEqual(self.stillness.during(0, 1000), 0)
        self.assertEqual(self.stillness.summary(), "the machine stood still: 3.1 s (1 times, at most 3.1 s)")

    def test_a_long_one_excuses_what_ran_meanwhile(self) -> None:
        self.look(0)
        begin = self.now
        self.look(48)
        end = self.now
        self.look(2)
        for start, stop in ((begin - 1, begin + 1), (begin + 1, begin + 2), (end - 1, end + 1), (0, 1000)):
            self.assertAlmostEqual(self.stillness.during(start, stop), 48.1)
        for start, stop in ((0, begin), (end, 1000)):
            self.assertEqual(self.stillness.during(start, stop), 0)
        self.assertEqual(self.stillness.summary(), "the machine stood still: 50.2 s (2 times, at most 48.1 s)")


class Parts(unittest.TestCase):
    tests = [a_test("build", 900), a_test("x/build", 500), *(a_test(f"x/{i}", 10, needs=("x/build",)) for i in range(5))] + [
        a_test(f"y/{i}", 30 + i, needs=("build",)) for i in range(50)
    ]

    def part(self, number: int, parts: int) -> list[Test]:
        return part(self.tests, number, parts, lambda test: test.seconds)

    def test_each_test_is_in_one_part(self) -> None:
        for parts in (1, 2, 3, 7):
            divided = [self.part(number, parts) for number in range(1, parts + 1)]
            for test in self.tests:
                count = sum(test in chosen for chosen in divided)
                self.assertEqual(count, parts if test.name == "build" else 1, (parts, test.name))

    def test_parts_are_alike_and_in_order(self) -> None:
        divided = [self.part(number, 3) for number in (1, 2, 3)]
        seconds = [sum(test.seconds for test in chosen) for chosen in divided]
        self.assertLess(max(seconds) - min(seconds), 80)  # one test of y
        for chosen in divided:
            self.assertEqual(chosen, sorted(chosen, key=self.tests.index))

    def test_what_shares_a_build_stays_together(self) -> None:
        for chosen in (self.part(number, 3) for number in (1, 2, 3)):
            self.assertIn(sum(test.name.startswith("x/") for test in chosen), (0, 6))

    def test_long_tests_that_no_table_has_count_by_their_limit(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            usual = Path(folder, "usual")
            usual.write_text("y/1  7\n")
            durations = Durations(usual, Path(folder, "last"))
            seconds = [durations.expected(test) for test in (a_test("y/1", 3600), a_test("y/2", 3600), a_test("y/3", 300))]
        self.assertEqual(seconds, [7, 720, 1])


class Total(unittest.TestCase):
    def test_parts_of_one_revision_add_up(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder)
            total.write(logs, (1, 3), total.Part("a", 10, ["mpi/ring"], 1, 100))
            total.write(logs, (2, 3), total.Part("old", 90, ["y"], 9, 900))
            total.write(logs, (3, 3), total.Part("a", 20, [], 2, 200))
            total.write(logs, (1, 2), total.Part("a", 90, ["z"], 9, 900))
            said = total.summary(logs, 3, "a")
            self.assertEqual(said, "parts 1, 3 of 3: 30 passed, 1 failed (mpi/ring), 3 skipped, 300 s; not run: 2")
            total.write(logs, (2, 3), total.Part("a", 5, [], 0, 50))
            said = total.summary(logs, 3, "a")
            self.assertEqual(said, "parts 1, 2, 3 of 3: 35 passed, 1 failed (mpi/ring), 3 skipped, 350 s; not run: none")


unittest.main()
