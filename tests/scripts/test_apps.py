#!/usr/bin/env python3
"""Tests of the parts of perf/apps/run that need no MPI.  python3 tests/scripts/test_apps.py"""
import subprocess
import sys
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
from measure import applications, programs  # noqa: E402

OUTPUT = """{"bench":"ca_isend","size":264,"depth":1,"ranks":2,"seed":1,"median":3.5,"repeats":1,"unit":"us","against":["ca_isend","ca_pscw"]}
ca_isend, size 264, 2 ranks: 3.5 us [3.5..3.5]
{"bench":"ca_pscw","size":264,"depth":1,"ranks":2,"seed":1,"median":7,"repeats":1,"unit":"us","against":["ca_isend"]}
{"bench":"ca_neon","size":264,"depth":1,"absent":"this MPI offers no window here"}
ok
"""


class Output(unittest.TestCase):
    def test_points_and_what_they_are_compared_with(self):
        against = {}
        points = applications.parse("ca", OUTPUT, against)
        self.assertEqual(points[0], programs.Point("ca_isend", 264, 1, 3.5, "us"))
        self.assertEqual(len(points), 2)
        self.assertEqual(against, {("ca_isend", 264): ["ca_isend", "ca_pscw"], ("ca_pscw", 264): ["ca_isend"]})

    def test_what_is_not_known_to_be_right_is_refused(self):
        with self.assertRaisesRegex(programs.Unreadable, "not said"):
            applications.parse("ca", OUTPUT.replace("ok\n", ""), {})
        with self.assertRaisesRegex(programs.Unreadable, "no measurement"):
            applications.parse("ca", "ok\n", {})

    def test_names(self):
        self.assertEqual(applications.chosen("asp,qr"), ["asp", "qr"])
        self.assertEqual(applications.chosen("all"), list(applications.NAMES))
        self.assertIsNone(applications.chosen("asp,tomcat"))

    def test_every_program_is_known_and_explained(self):
        sources = {path.stem for path in (PERF / "apps").glob("*.cpp")}
        self.assertEqual(sources, set(applications.NAMES))
        page = (PERF / "apps" / "README.md").read_text(encoding="utf-8")
        self.assertEqual([name for name in applications.NAMES if f"`{name}`" not in page], [])


VALUES = {
    ("ca_isend", 264, 1): {"lfc": [2.0, 2.0], "vader": [4.0, 2.0]},
    ("ca_pscw", 264, 1): {"lfc": [4.0, 6.0]},
    ("slb_drops", 600, 1): {"lfc": [3.0, 3.0], "vader": [0.0, 6.0]},
    ("overlap", 1024, 1): {"lfc": [80.0, 80.0], "vader": [0.0, 0.0]},
}
UNITS = {"ca_isend": "us", "ca_pscw": "us", "slb_drops": "requests", "overlap": "%"}


class Tables(unittest.TestCase):
    def test_transports(self):
        table = applications.table(VALUES, UNITS, ["lfc", "vader"]).splitlines()
        self.assertRegex(table[2], r"ca_isend +264 +us +2\.00 +3\.00 +0\.75 \[0\.62\.\.0\.88\]$")
        self.assertRegex(table[3], r"ca_pscw .* 5\.00 +- +-$")

    def test_nothing_is_divided_by_zero(self):
        table = applications.table(VALUES, UNITS, ["lfc", "vader"]).splitlines()
        self.assertRegex(table[4], r"slb_drops .* 0\.50 \[0\.50\.\.0\.50\]$")
        self.assertRegex(table[5], r"overlap +1024 +% \(more is better\) .* \+80 \[\+80\.\.\+80\] points$")

    def test_ways(self):
        table = applications.ways(VALUES, {("ca_pscw", 264): ["ca_isend", "ca_pscw"]}, ["lfc", "vader"]).splitlines()
        self.assertEqual(len(table), 3)
        self.assertRegex(table[2], r"ca_pscw / ca_isend +264 +2\.50 \[2\.25\.\.2\.75\] +-$")
        self.assertEqual(applications.ways(VALUES, {("none", 1): ["ca_isend"]}, ["lfc"]), "")


class CommandLine(unittest.TestCase):
    def run_with(self, *words):
        return subprocess.run([PERF / "apps" / "run", *words], capture_output=True, text=True, timeout=60, check=False)

    def test_help_and_wrong_use(self):
        self.assertEqual(self.run_with("--help").returncode, 0)
        wrong = self.run_with("tomcat", "lfc")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("no program 'tomcat'", wrong.stderr)
        self.assertEqual(self.run_with("ca").returncode, 2)
        self.assertIn("--np is out of range", self.run_with("ca", "lfc", "--np", "0").stderr)


if __name__ == "__main__":
    unittest.main()
