#!/usr/bin/env python3
"""Tests of the rows, verdicts and proofs of perf/startup.  python3 tests/scripts/test_startup.py"""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "perf"))
sys.dont_write_bytecode = True

from measure import programs, startup  # noqa: E402


def line(phase, median):
    return json.dumps({"bench": phase, "size": 0, "depth": 1, "ranks": 2, "median": median, "unit": "us"})


def output(without=()):
    return "\n".join(line(phase, 10) for phase in startup.GOALS if phase not in without)


SERVED = """[node:1] coll lfc: MPI_COMM_WORLD: served
[node:2] coll lfc: MPI_COMM_WORLD: served
[node:1] osc neon: window of 2 ranks: 2 mapped here, 0 reached through links
[node:2] osc neon: window of 2 ranks: 2 mapped here, 0 reached through links
lfc-stats rank=0 links=loop,shm frames_sent=3
lfc-stats rank=1 links=loop,shm frames_sent=4
{"mapped":["liblfc","libstdc++"]}
"""


class Parsing(unittest.TestCase):
    def test_the_slowest_rank_of_finalize_counts(self):
        points = startup.parse(output() + "\n" + line("finalize", 12) + "\n" + line("finalize", 11))
        self.assertEqual([point.value for point in points if point.bench == "finalize"], [12])
        self.assertEqual(len(points), len(startup.GOALS))

    def test_a_missing_phase(self):
        with self.assertRaisesRegex(programs.Unreadable, "comm_dup"):
            startup.parse(output(without=("comm_dup",)))
        startup.parse(output(without=startup.ONE_NODE))  # between nodes


class Proofs(unittest.TestCase):
    def test_lfc_serves_all(self):
        found = startup.served(SERVED, 2)
        self.assertEqual(found, {"ranks with frames": 2, "communicators": 1, "windows": 1, "mapped": "liblfc and libstdc++"})
        self.assertIsNone(startup.problem("lfc", found, 2))
        self.assertIn("served: ranks with frames", startup.problem("stock", found, 2))

    def test_lfc_serves_a_part(self):
        self.assertIn("windows", startup.problem("lfc", startup.served(SERVED.replace("osc neon", "osc rdma"), 2), 2))
        self.assertIn("communicators", startup.problem("lfc", startup.served(SERVED.replace("served", "not served"), 2), 2))
        self.assertIn("every rank", startup.problem("lfc", startup.served(SERVED.replace("sent=4", "sent=0"), 2), 2))

    def test_lfc_serves_nothing(self):
        self.assertIsNone(startup.problem("stock", startup.served('{"mapped":["liblfc"]}', 2), 2))
        self.assertIn("installed", startup.problem("bare", startup.served('{"mapped":["liblfc"]}', 2), 2))
        self.assertIsNone(startup.problem("bare", startup.served('{"mapped":[]}', 2), 2))


class Rows(unittest.TestCase):
    def test_goals(self):
        of_point = {"lfc": [21.0, 22.0, 21.0], "stock": [20.0, 20.0, 20.0], "bare": [16.0, 16.0, 16.0]}
        text = startup.table({2: {("init", 0, 1): of_point}, 16: {("comm_dup", 0, 1): of_point}})
        self.assertIn("1.05 [1.05..1.08] <= 1.05 met", " ".join(text.split()))
        self.assertIn("<= 1.02 missed by 23 %", text)
        self.assertIn("<= 1.1 met", text)

    def test_a_transport_that_was_not_measured(self):
        text = startup.table({2: {("init", 0, 1): {"lfc": [21.0]}}})
        self.assertIn("init 2", text)
        self.assertNotIn("met", text)


if __name__ == "__main__":
    unittest.main()
