#!/usr/bin/env python3
"""Tests of the model behind perf/policy.  python3 tests/scripts/test_policy_model.py"""
import sys
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True

from measure.policy_model import Machine, Program, judge, predict, recommend, wait_of  # noqa: E402

MACHINE = Machine(latency=1.0, floating_latency=1.02, wait=100.0)


class Model(unittest.TestCase):
    def test_without_computing_it_is_the_latency(self):
        times = predict(MACHINE, Program(0))
        self.assertAlmostEqual(times["single"], 1.0)
        self.assertAlmostEqual(times["floating"], 1.02)
        self.assertEqual(recommend(times)[0], "single")

    def test_single_waits_for_what_is_left_of_a_gap(self):
        # T = C + L + (C / T) C
        time = predict(MACHINE, Program(1000))["single"]
        self.assertAlmostEqual(time, 1000 + 1 + 1000 / time * 1000)

    def test_floating_wins_where_gaps_are_long(self):
        self.assertEqual(recommend(predict(MACHINE, Program(1000)))[0], "floating")
        # The partner is there before the thread.
        self.assertEqual(recommend(predict(MACHINE, Program(30)))[0], "single")

    def test_the_wait_is_found_again_in_what_it_causes(self):
        for gap in (200, 1000, 3000):
            time = predict(MACHINE, Program(gap))["floating"]
            self.assertAlmostEqual(wait_of(gap, time, MACHINE.floating_latency), MACHINE.wait, places=3)

    def test_no_wait_is_measured_as_none(self):
        self.assertEqual(wait_of(1000, 990, 1.0), 0)

    def test_a_spare_core_takes_nothing_from_the_host(self):
        spare = Machine(1.0, 1.02, wait=100.0, fixed_latency=1.3, spare=True)
        times = predict(spare, Program(1000))
        self.assertLess(times["floating"], predict(MACHINE, Program(1000))["floating"])
        self.assertLess(times["fixed"], times["floating"])
        self.assertIsNone(predict(MACHINE, Program(1000))["fixed"])

    def test_a_difference_of_less_than_five_percent_is_none(self):
        self.assertEqual(recommend({"single": 104, "floating": 100, "fixed": None})[0], "single")
        self.assertEqual(recommend({"single": 106, "floating": 100, "fixed": None})[0], "floating")

    def test_judgement(self):
        predicted = {"single": 150, "floating": 120, "fixed": None}
        self.assertTrue(judge(predicted, {"single": 140, "floating": 110}))
        self.assertFalse(judge(predicted, {"single": 110, "floating": 140}))
        self.assertIsNone(judge(predicted, {"single": 102, "floating": 100}))


if __name__ == "__main__":
    unittest.main()
