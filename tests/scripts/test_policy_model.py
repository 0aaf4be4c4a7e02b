#!/usr/bin/env python3
"""Tests of the model behind perf/policy.  python3 tests/scripts/test_policy_model.py"""
import sys
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True

from measure.policy_model import Machine, Program, judge, predict, recommend, utilisation  # noqa: E402

MACHINE = Machine(latency=1.0, floating_latency=1.02, wake_up=20.0, handler=1.0)


class Model(unittest.TestCase):
    def test_share_of_computing(self):
        self.assertEqual(utilisation(0, 1), 0)
        self.assertEqual(utilisation(3, 1), 0.75)

    def test_without_computing_it_is_the_latency(self):
        times = predict(MACHINE, Program(0))
        self.assertAlmostEqual(times["single"], 1.0)
        self.assertAlmostEqual(times["floating"], 1.02)
        self.assertEqual(recommend(times)[0], "single")

    def test_single_waits_half_a_gap(self):
        times = predict(MACHINE, Program(1000))
        self.assertAlmostEqual(times["single"], 1000 + 1 + 500 * 1000 / 1001)

    def test_floating_wins_where_gaps_are_long(self):
        self.assertEqual(recommend(predict(MACHINE, Program(1000)))[0], "floating")
        # The thread has not noticed yet that the host computes.
        self.assertEqual(recommend(predict(MACHINE, Program(100)))[0], "single")

    def test_a_spare_core_takes_nothing_from_the_host(self):
        spare = Machine(1.0, 1.02, 20.0, 1.0, fixed_latency=1.3, spare=True)
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
