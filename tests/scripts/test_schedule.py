"""The schedule of scripts/suite: which tests run at once, behind which builds, and how long a run takes by the plan."""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/suite"))
from plan import lines, plan
from schedule import Schedule
from table import WAITS, Test


def a_test(name: str, cores: float = 1, needs: tuple[str, ...] = (), **kind: bool) -> Test:
    return Test(name, "quick", 60, cores, ("kind",), needs=needs, **kind)


def a_build(name: str, needs: tuple[str, ...] = ()) -> Test:
    return a_test(name, needs=needs, builds=True)


def taken(schedule: Schedule) -> list[str]:
    """Starts all tests that may start now, and returns their names."""
    names = []
    while test := schedule.take():
        names.append(test.name)
    return names


def schedule_of(tests: list[Test], processors: int, usual: dict[str, float] | None = None) -> Schedule:
    return Schedule(tests, processors, lambda test: (usual or {}).get(test.name, 1.0))


class AtOnce(unittest.TestCase):
    def test_as_many_ranks_as_processors(self) -> None:
        tests = [a_test("a", 2), a_test("b", 4), a_test("c", 2)]
        schedule = schedule_of(tests, 4)
        self.assertEqual(taken(schedule), ["a", "c"])
        schedule.ended(tests[0])
        self.assertEqual(taken(schedule), [])
        schedule.ended(tests[2])
        self.assertEqual(taken(schedule), ["b"])

    def test_more_ranks_than_processors_take_all(self) -> None:
        tests = [a_test("a", 8), a_test("b", WAITS), a_test("c", 1)]
        schedule = schedule_of(tests, 2, {"a": 9})
        self.assertEqual(taken(schedule), ["a"])
        schedule.ended(tests[0])
        self.assertEqual(taken(schedule), ["b", "c"])

    def test_one_that_waits_runs_beside_a_build(self) -> None:
        tests = [a_test("one"), a_test("waits", WAITS), a_test("waits too", WAITS), a_build("x/build"), a_build("y/build")]
        for processors in (1, 2, 8):
            self.assertEqual(taken(schedule_of(tests, processors)), ["x/build", "waits"], processors)

    def test_one_that_judges_time_is_alone_and_last(self) -> None:
        tests = [a_test("alone", alone=True), a_test("a"), a_test("b"), a_test("also alone", alone=True)]
        schedule = schedule_of(tests, 8)
        self.assertEqual(taken(schedule), ["a", "b"])
        schedule.ended(tests[1])
        self.assertEqual(taken(schedule), [])
        schedule.ended(tests[2])
        self.assertEqual(taken(schedule), ["alone"])
        self.assertEqual(schedule.left(), 1)
        schedule.ended(tests[0])
        self.assertEqual(taken(schedule), ["also alone"])

    def test_the_longest_first(self) -> None:
        tests = [a_test(name) for name in "abcd"]
        self.assertEqual(taken(schedule_of(tests, 3, {"c": 7, "b": 5})), ["c", "b", "a"])


class Builds(unittest.TestCase):
    def test_it_ends_before_a_test_that_needs_it_starts(self) -> None:
        tests = [a_test("x", needs=("x/build",)), a_build("x/build", ("tree",)), a_test("tree"), a_test("free")]
        schedule = schedule_of(tests, 8)
        self.assertEqual(taken(schedule), ["tree", "free"])
        schedule.ended(tests[3])
        schedule.ended(tests[2])
        self.assertEqual(taken(schedule), ["x/build"])
        schedule.ended(tests[1])
        self.assertEqual(taken(schedule), ["x"])

    def test_the_first_test_makes_one_that_was_not_chosen(self) -> None:
        tests = [a_test(name, needs=("build",)) for name in "abc"]
        schedule = schedule_of(tests, 8)
        self.assertEqual(taken(schedule), ["a"])
        schedule.ended(tests[0])
        self.assertEqual(taken(schedule), ["b", "c"])

    def test_one_that_is_alone_may_make_it(self) -> None:
        tests = [a_test("alone", needs=("build",), alone=True), a_test("b", needs=("build",))]
        schedule = schedule_of(tests, 8)
        self.assertEqual(taken(schedule), ["alone"])
        schedule.ended(tests[0])
        self.assertEqual(taken(schedule), ["b"])


class Plans(unittest.TestCase):
    def test_any_tests_come_to_an_end_within_the_processors(self) -> None:
        for seed in range(200):
            draw = random.Random(seed)
            builds = [a_build(f"{number}/build") for number in range(draw.randrange(3))]
            names = [build.name for build in builds]
            tests = builds + [
                a_test(
                    str(number),
                    draw.choice([WAITS, 1, 2, 4, 16]),
                    tuple(draw.sample(names, draw.randrange(len(names) + 1))),
                    alone=draw.random() < 0.1,
                )
                for number in range(draw.randrange(40))
            ]
            chosen = [test for test in tests if draw.random() < 0.8]
            processors = draw.choice([1, 2, 3, 8])
            usual = {test.name: draw.uniform(1, 20) for test in chosen}
            starts, length = plan(schedule_of(chosen, processors, usual), lambda test: usual[test.name])
            self.assertEqual(sorted(test.name for _, test in starts), sorted(test.name for test in chosen), seed)
            self.assertLessEqual(length, sum(usual.values()) + 0.001, seed)
            begin = {test.name: start for start, test in starts}
            for start, test in starts:
                beside = [other for at, other in starts if at <= start < at + usual[other.name] - 1e-9]
                self.assertTrue(not test.alone or beside == [test], seed)
                cores = sum(min(other.cores, processors) for other in beside if not other.builds)
                self.assertLessEqual(cores, processors, seed)
                for need in test.needs:
                    if need in begin:
                        self.assertGreaterEqual(start, begin[need] + usual[need] - 1e-9, seed)

    def test_the_length_falls_with_processors(self) -> None:
        tests = [a_test(str(number)) for number in range(8)]
        for processors, seconds in ((1, 80), (2, 40), (8, 10)):
            printed = lines(schedule_of(tests, processors), lambda _: 10.0, processors)
            self.assertEqual(printed[-1], f"plan: 8 tests, {seconds // 60} min {seconds % 60} s on {processors} processors")
            self.assertEqual(len(printed), 10)


unittest.main()
