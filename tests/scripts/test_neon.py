#!/usr/bin/env python3
"""Tests of the parts of perf/neon that need no MPI.  python3 tests/scripts/test_neon.py"""
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

PERF = Path(__file__).resolve().parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
from measure import neon_tables, neon_thesis, programs  # noqa: E402

OUTPUT = """{"bench":"ca_isend","size":136,"depth":1,"median":4,"unit":"us","lines":4,"compute":3,"against":[]}
{"bench":"ca_neon","size":136,"depth":1,"absent":"this MPI offers no window here"}
ok
"""


class Thesis(unittest.TestCase):
    def test_drop_times_are_those_of_the_other_columns(self):
        tables = (neon_thesis.TABLE_C_2, neon_thesis.TABLE_C_3, neon_thesis.TABLE_C_4, neon_thesis.TABLE_C_5)
        for number, table in enumerate(tables, 2):
            drops, _, answer, _, _ = table["wrr"]
            for name, row in table.items():
                product = row[0] / drops * row[2] / answer
                self.assertAlmostEqual(product, row[4], delta=0.01 * product, msg=f"C.{number} {name}")

    def test_products_of_table_c_1(self):
        for table in neon_thesis.TABLE_C_1.values():
            drops, answer, burst, _ = table[10]
            for least, row in table.items():
                product = row[0] * row[1] / row[2] / (drops * answer / burst)
                self.assertAlmostEqual(product, row[3], delta=0.02, msg=str(least))

    def test_seconds_become_us_of_an_iteration(self):
        self.assertAlmostEqual(neon_thesis.per_iteration(29.97), 999)


class Output(unittest.TestCase):
    def test_counts_are_points_of_their_own(self):
        points = {point.bench: point.value for point in neon_tables.parse(OUTPUT)}
        self.assertEqual(points, {"ca_isend": 4, "ca_isend.compute": 3})

    def test_results_that_are_not_right_do_not_count(self):
        with self.assertRaises(programs.Unreadable):
            neon_tables.parse(OUTPUT.replace("ok\n", ""))
        with self.assertRaises(programs.Unreadable):
            neon_tables.parse("ok\n")


class Tables(unittest.TestCase):
    def bench(self, **found):
        of = {"drops": 10, "answer": 2, "burst": 5, "reports": 1, "queue": 3, "queue_ratio": 1, "quartiles": "10 [9..11]"}
        simulated = {name: dict(of) for name in ("wrr", "plain", "lwm", "soft", "dlsoft", "dpr", "rr", "lc", "sed")}
        return SimpleNamespace(simulate=lambda _: simulated | found)

    def test_ours_stands_beside_the_thesis(self):
        lines = neon_tables.table_c_2(self.bench()).splitlines()
        self.assertRegex(lines[2], r"plain +162 +0\.80 +1\.05 +52\.0 +1\.01 +0\.837 +10 +1\.00 +1\.00 +3\.0 +1\.00 +1\.000 +5 ")

    def test_no_drops_have_no_quotient(self):
        for table in ("C.1", "C.2", "C.4", "C.5", "figure-6.6"):
            of = {"drops": 0, "answer": 2, "burst": 5, "reports": 1, "queue": 3, "queue_ratio": 1, "quartiles": "0"}
            self.assertIn("-", neon_tables.TABLES[table](self.bench(wrr=of, lwm=of)))

    def test_a_cell_without_values(self):
        self.assertEqual(neon_tables.cell([]), "-")
        self.assertEqual(neon_tables.cell([1, 2, 3]), "2.00 [1.50..2.50]")
        self.assertEqual(neon_tables.ratio([1, 2], [0, 4]), "0.50 [0.50..0.50]")

    def test_each_table_of_the_thesis_is_there(self):
        wanted = [f"5.{n}" for n in range(1, 5)] + [f"C.{n}" for n in range(1, 6)]
        wanted += [f"figure-{n}" for n in ("5.2", "5.3", "5.6", *(f"6.{n}" for n in range(3, 10)))]
        self.assertEqual([name for name in wanted if name not in neon_tables.TABLES], [])


if __name__ == "__main__":
    unittest.main()
