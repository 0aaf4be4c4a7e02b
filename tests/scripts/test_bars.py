#!/usr/bin/env python3
"""Tests of the rows and verdicts of perf/bars, and of LFC's counts for one unit.  python3 tests/scripts/test_bars.py"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True

from measure import bars, counting, job, transports  # noqa: E402

COUNTS = {"lfc": {"bcast 8@1": {"frames_sent": 3.0}}, "tuned-lfc": {"bcast 8@1": {"frames_sent": 4.0}}}
HEADER = {"compare": 1, "proof": {"lfc": "pml ob1; btl lfc"}, "busy": False, "counts": COUNTS}
TIMES = {"lfc": [8.0, 9.0, 8.0], "tuned-lfc": [10.0, 10.0, 10.0], "tcp": [20.0, 20.0, 20.0], "ucx": [10.0, 10.0, 16.0]}
RATES = {"lfc": [50.0, 50.0, 50.0], "tcp": [100.0, 100.0, 100.0], "ucx": [25.0, 25.0, 25.0]}


def results(bench="bcast", unit="us", of_point=None, size=8, **header):
    lines = [json.dumps(HEADER | header)]
    for name, values in (of_point or TIMES).items():
        lines.append(json.dumps({"bench": bench, "size": size, "depth": 1, "unit": unit, "transport": name, "values": values}))
    lines.append(json.dumps({"loggp": "g", "transport": "lfc"}))
    return bars.read("\n".join(lines))


class Rows(unittest.TestCase):
    def test_a_ratio_is_by_the_best_of_stock(self):
        text = bars.table("trees", results(), [bars.Goal("bcast", 0.85)])
        # tuned-lfc is as fast as ucx, but no stock transport; the third pair of ucx does not change the median.
        self.assertIn("ucx 10.0", text)
        self.assertIn("0.80 [0.65..0.85]", text)
        self.assertIn("<= 0.85 met", text)
        self.assertIn("frames_sent 3.00", text)
        self.assertNotIn("frames_sent 4.00", text)
        self.assertIn("lfc: pml ob1; btl lfc", text)

    def test_a_goal_that_is_missed(self):
        text = bars.table("trees", results(), [bars.Goal("bcast", 0.4)])
        self.assertIn("<= 0.4 MISSED by 100 %", text)

    def test_goals_by_another_transport_and_by_size(self):
        goals = [bars.Goal("bcast", 0.7, (1024,)), bars.Goal("bcast", 0.75, by="tuned-lfc"), bars.Goal("barrier", 0.1)]
        text = bars.table("trees", results(), goals)
        self.assertIn("<= 0.75 MISSED by 7 % of tuned-lfc", text)
        self.assertNotIn("0.7 ", text.replace("0.75", ""))
        self.assertIn("no goal", bars.table("trees", results(), []))

    def test_rates_are_inverted(self):
        text = bars.table("osu", results("put_bw", "MB/s", RATES), [bars.Goal("put_bw", 1.0)])
        self.assertIn("tcp 100", text)
        self.assertIn("2.00 [2.00..2.00]", text)
        self.assertIn("MISSED by 100 %", text)

    def test_values(self):
        peak = results("put_burst_peak", "MB", {"neon": [25.0] * 3, "pt2pt": [21.0] * 3})
        self.assertIn("<= 20 MISSED by 25 %", bars.table("bursts", peak, bars.GOALS["bursts"][1]))
        bench = "overlap_iallreduce_together_both_available"
        shares = {"lfc": [90.0] * 3, "tcp": [0.0] * 3}
        text = bars.table("overlap", results(bench, "%", shares), bars.GOALS["overlap"][1])
        self.assertIn(">= 80 met", text)

    def test_a_goal_without_stock_is_not_met(self):
        self.assertIn("not measured", bars.table("trees", results(of_point={"lfc": [1.0]}), [bars.Goal("bcast", 1.0)]))

    def test_a_busy_machine_is_named(self):
        self.assertIn("NOT A RESULT", bars.table("trees", results(busy=True), []))


class Tables(unittest.TestCase):
    def test_each_table_exists_and_has_the_benches_of_its_goals(self):
        for name, (script, goals) in bars.GOALS.items():
            source = (PERF / script).read_text(encoding="utf-8")
            self.assertIn(f"perf/{script} {name} ", source)
            self.assertTrue(goals, name)

    def test_unknown_tables_are_refused(self):
        done = subprocess.run([PERF / "bars", "trunks"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no table 'trunks'", done.stderr)


class Counting(unittest.TestCase):
    def test_the_start_of_the_job_does_not_count(self):
        # 12 frames at the start, 2 on each rank for each unit.
        def start(transport, program):
            units = int(program.command[program.command.index("--units") + 1])
            line = "lfc-stats rank={} links=shm:1 frames_sent={} memory=4096 multicasts=1"
            return job.Done(0, "", "\n".join(line.format(rank, 12 + 2 * units) for rank in (0, 1)), False)

        lfc = transports.Transport("lfc", (), lfc=True)
        values = {("put", 8, 1): {"lfc": [1.0]}, ("put_burst", 8, 100000): {"lfc": [1.0]}, ("put_burst_peak", 8, 1): {"lfc": [1.0]}}
        counts = counting.of_points(start, lfc, "mpi_bench", values)
        self.assertEqual(counts, {"put 8@1": {"frames_sent": 4.0}, "put_burst 8@100000": {"frames_sent": 4.0}})
        self.assertIn("put 8@1: frames_sent 4.00", counting.table("lfc", counts))

    def test_a_job_that_fails_is_named(self):
        lfc = transports.Transport("lfc", (), lfc=True)
        counts = counting.of_points(lambda *_: job.Done(1, "", "", False), lfc, "mpi_bench", {("put", 8, 1): {"lfc": [1.0]}})
        self.assertIn("not counted", counting.table("lfc", counts))


if __name__ == "__main__":
    unittest.main()
