#!/usr/bin/env python3
"""Tests of the parts of perf/compare and perf/profile that need no MPI.  python3 tests/scripts/test_compare.py"""
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True

from measure import build, job, noise, plot, programs, report, statistics, switches, trace, transports  # noqa: E402
from measure.sitting import Sitting  # noqa: E402


class Statistics(unittest.TestCase):
    def test_quantiles_interpolate_and_ignore_order(self):
        self.assertEqual(statistics.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(statistics.quantile([4, 1, 3, 2], 0.25), 1.75)
        self.assertEqual(statistics.quantile([7], 0.9), 7)
        with self.assertRaises(ValueError):
            statistics.quantile([], 0.5)

    def test_ratio_is_paired(self):
        # The machine became three times slower in the middle: figures of pairs do not change.
        ratio = statistics.paired_ratio([1, 1, 3, 3], [2, 2, 6, 6])
        self.assertEqual((ratio.median, ratio.p25, ratio.p75, ratio.count), (0.5, 0.5, 0.5, 4))
        with self.assertRaises(ValueError):
            statistics.paired_ratio([1], [1, 2])

    def test_better_depends_on_the_unit(self):
        self.assertTrue(statistics.better("us", 1, 2))
        self.assertTrue(statistics.better("MB/s", 2, 1))
        self.assertFalse(statistics.better("M/s", 1, 2))

    def test_loggp(self):
        found = statistics.loggp(0.1, 0.2, 1.0, 0.4, 100.0, 400.0, 256, 1024 + 256)
        self.assertAlmostEqual(found["L"][0], 0.7)
        self.assertEqual(found["g"], (0.4, "us"))
        self.assertAlmostEqual(found["G"][0], 1024 / 300.0)
        self.assertEqual(statistics.loggp(1, 1, 1, 1, 5, 5, 0, 1)["G"][0], float("inf"))


MPI_BENCH = """{"info":"mpi_bench","ranks":2}
{"bench":"latency","size":8,"depth":1,"ranks":2,"median":0.25,"min":0.2,"p25":0.24,"p75":0.3,"repeats":5,"unit":"us"}
{"bench":"put","size":8,"absent":"this MPI offers no window"}
"""
OSU = """# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       0.18
8                       0.19
4096                    2.50
"""
OSU_MBW = """# OSU MPI Multiple Bandwidth / Message Rate Test v5.9
# [ pairs: 1 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       8.02        8020000.11
"""
IMB = """#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.21         0.00
         1024         1000         0.50      2048.00

#-----------------------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.50         0.60         0.55
"""
NETPIPE = """0: host
1: host
Now starting the main loop
  0:       1 bytes  20000 times -->      8.00 Mbps in       0.95 usec
  1:      64 bytes  10000 times -->    800.00 Mbps in       0.61 usec
"""


class Parsers(unittest.TestCase):
    def test_mpi_bench(self):
        self.assertEqual(programs.parse_mpi_bench(MPI_BENCH), [programs.Point("latency", 8, 1, 0.25, "us")])

    def test_osu(self):
        points = programs.parse_osu("osu_latency", OSU)
        self.assertEqual([(p.size, p.value, p.unit) for p in points], [(0, 0.18, "us"), (8, 0.19, "us"), (4096, 2.5, "us")])
        self.assertEqual([(p.size, p.value) for p in programs.parse_osu("osu_mbw_mr", OSU_MBW)], [(1, 8.02)])

    def test_imb(self):
        points = {(p.bench, p.size): (p.value, p.unit) for p in programs.parse_imb(IMB)}
        self.assertEqual(
            points,
            {
                ("imb_PingPong", 0): (0.21, "us"),
                ("imb_PingPong", 1024): (0.5, "us"),
                ("imb_PingPong_bw", 1024): (2048.0, "MB/s"),
                ("imb_Allreduce", 8): (0.55, "us"),
            },
        )

    def test_netpipe(self):
        points = {(p.bench, p.size): (p.value, p.unit) for p in programs.parse_netpipe(NETPIPE)}
        self.assertEqual(points[("netpipe", 64)], (0.61, "us"))
        self.assertEqual(points[("netpipe_bw", 64)], (100.0, "MB/s"))

    def test_output_without_measurement_is_refused(self):
        for parse in (programs.parse_mpi_bench, programs.parse_imb, programs.parse_netpipe):
            with self.assertRaises(programs.Unreadable):
                parse("mpirun noticed that everything is lost\n")
        with self.assertRaises(programs.Unreadable):
            programs.parse_osu("osu_bw", "# Size\n")

    def test_points_in_a_specification(self):
        self.assertEqual(programs.points_in("latency:8,1K-8K"), 5)
        self.assertEqual(programs.points_in("rate:8@1,2,64"), 3)
        self.assertEqual(programs.points_in("bw:1M"), 1)

    def test_callgrind_and_strace(self):
        self.assertEqual(trace.parse_callgrind("events: Ir\n\ntotals: 1234\n"), 1234)
        table = (
            "% time     seconds  usecs/call     calls    errors syscall\n"
            "------ ----------- ----------- --------- --------- ----------------\n"
            " 60.00    0.000600           1       500        20 poll\n"
            " 40.00    0.000400           1       100           writev\n"
            "100.00    0.001000           1       600        20 total\n"
        )
        self.assertEqual(trace.parse_strace(table), {"poll": 500, "writev": 100})
        with self.assertRaises(trace.Untraceable):
            trace.parse_strace("")
        with self.assertRaises(trace.Untraceable):
            trace.parse_callgrind("")


SELECTION = """[h:1] select: component ofi selected
[h:1] selected ob1 best priority 20
[h:1] mca: bml: Using tcp btl for send to [[1,1],1] on node h
[h:1] mca: bml: Using self btl for send to [[1,1],0] on node h
"""
STATS = "lfc-stats rank=0 links=shm frames_sent=12 bytes_sent=96\n[h:2] lfc-stats rank=1 links=shm frames_sent=0\n"


class PathTaken(unittest.TestCase):
    def test_what_was_selected(self):
        self.assertEqual(transports.taken(SELECTION), {"pml": {"ob1"}, "btl": {"tcp"}})
        ucx = "[1.5] [h:1:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(sysv/memory cma/memory)\nselected ucx best priority 51\n"
        self.assertEqual(transports.taken(ucx), {"pml": {"ucx"}, "ucx": {"sysv", "cma"}})

    def test_another_path_is_a_problem(self):
        evidence = transports.taken(SELECTION)
        self.assertIsNone(transports.named("tcp", False).problem(evidence))
        self.assertIn("tcp was taken", transports.named("vader", False).problem(evidence))
        both = {"pml": {"ob1"}, "btl": {"tcp", "vader"}}
        self.assertIn("as well", transports.named("tcp", False).problem(both))

    def test_lfc_must_have_sent_on_every_rank(self):
        counters = transports.lfc_counters(STATS)
        self.assertEqual(counters[0], {"links": "shm", "frames_sent": 12, "bytes_sent": 96})
        self.assertIn("rank 1", transports.lfc_problem(counters, 2))
        self.assertIsNone(transports.lfc_problem({0: {"frames_sent": 1}, 1: {"frames_sent": 1}}, 2))
        self.assertIn("rank 0, 1", transports.lfc_problem({}, 2))

    def test_versions(self):
        self.assertEqual(transports.major_version("mpirun (Open MPI) 5.0.7\n"), 5)
        self.assertIn("tcp", transports.named("mtl-ofi", False, major=5).arguments)
        self.assertNotIn("tcp", transports.named("mtl-ofi", False, major=4).arguments)
        self.assertIn("lo", transports.named("tcp", False).arguments)
        self.assertNotIn("lo", transports.named("tcp", True).arguments)

    def test_transports_of_ones_own(self):
        own = transports.named('new=--mca btl lfc,self --mca x "a b"', False, "/dir")
        self.assertTrue(own.lfc)
        self.assertIn("a b", own.arguments)
        self.assertIn("/dir:SYS_DEFAULT", own.arguments)
        self.assertFalse(transports.named("old=--mca btl tcp,self", False).lfc)
        with self.assertRaises(ValueError):
            transports.named("carrier-pigeon", False)


class Noise(unittest.TestCase):
    def meter(self, busy, steal, own, seconds):
        stats, owns, times = iter([(10.0, 1.0), (10.0 + busy, 1.0 + steal)]), iter([5.0, 5.0 + own]), iter([0.0, seconds])
        return noise.Meter(lambda: next(stats), lambda: next(owns), lambda: next(times))

    def test_own_work_is_not_foreign(self):
        load = self.meter(busy=4.0, steal=0.5, own=3.0, seconds=2.0).read()
        self.assertAlmostEqual(load.foreign, 0.5)
        self.assertAlmostEqual(load.steal, 0.25)
        self.assertAlmostEqual(load.total, 0.75)

    def test_never_negative(self):
        self.assertEqual(self.meter(busy=1.0, steal=0.0, own=1.1, seconds=1.0).read().foreign, 0.0)

    def test_proc_stat(self):
        tick = os.sysconf("SC_CLK_TCK")
        text = f"cpu  {tick} {2 * tick} {3 * tick} 99 99 50 60 {4 * tick} 0 0\ncpu0 1 1 1 1\n"
        self.assertEqual(noise.parse_stat(text), (6.0, 4.0))

    def test_children_count_as_own_once_they_have_ended(self):
        before = noise.own_cpu()
        spin = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-c", spin], check=True)
        self.assertGreaterEqual(noise.own_cpu() - before, 0.3)

    def test_waiting_ends(self):
        class Busy:
            def read(self):
                return noise.Load(1.5, 0.0, 0.5)

        times = iter(range(100))
        with self.assertRaises(noise.TooBusy) as caught:
            noise.wait_for_quiet(0.1, 3, meter=Busy, sleep=lambda _: None, clock=lambda: next(times))
        self.assertIn("1.50 cores foreign", str(caught.exception))


class Jobs(unittest.TestCase):
    def test_output_and_code(self):
        done = job.run(["sh", "-c", "echo out; echo err >&2; exit 7"], 20)
        self.assertEqual((done.code, done.out, done.err, done.timed_out), (7, "out\n", "err\n", False))

    def test_missing_program(self):
        self.assertEqual(job.run(["/no/such/program"], 20).code, 127)

    def test_nothing_outlives_its_time(self):
        # The grandchild ignores the polite signal and is in a separate process group, as ranks are.
        stubborn = "import os,signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.setpgid(0,0); print(os.getpid(), flush=True); time.sleep(600)"
        for limit in (1.5, 6, 24, 96):  # a busy machine takes long to start it
            done = job.run(["sh", "-c", f'{sys.executable} -c "{stubborn}" & wait'], limit)
            self.assertTrue(done.timed_out)
            if done.out:
                break
        self.assertFalse(os.path.exists(f"/proc/{int(done.out)}") and self.state(int(done.out)) != "Z")
        self.assertEqual(done.last_words(), "timed out")

    def test_what_a_job_leaves_behind_counts_as_own(self):
        # The middle process ends at once, as mpirun does without waiting for its daemons.
        spin = "import time\nwhile time.process_time() < 0.4: pass"
        before = noise.own_cpu()
        done = job.run(["sh", "-c", f"{sys.executable} -c '{spin}' >/dev/null 2>&1 & exit 0"], 20)
        self.assertEqual(done.code, 0)
        self.assertGreaterEqual(noise.own_cpu() - before, 0.4)

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]

    def test_last_words(self):
        absent = "A requested component was not found.\n\n  Host:      h\n  Framework: btl\n  Component: lfc\n"
        self.assertEqual(job.Done(1, "", absent, False).last_words(), "this Open MPI has no btl lfc")
        self.assertEqual(job.Done(1, "", "-----\nhello\nfatal error: x\n", False).last_words(), "fatal error: x")
        self.assertEqual(job.Done(9, "", "", False).last_words(), "exit code 9")


def quiet(*_):
    return noise.Load(0.0, 0.0, 1.0)


class Scripted:
    """A meter that returns the given loads, one per run."""

    def __init__(self, loads):
        self.loads = iter(loads)

    def __call__(self):
        return self

    def read(self):
        return noise.Load(next(self.loads), 0.0, 1.0)


class Sittings(unittest.TestCase):
    def sitting(self, loads, outputs, forced=False):
        self.started = []

        def start(transport, program):
            self.started.append(transport.name)
            return outputs(transport, len(self.started))

        return Sitting(start, ranks=2, limit=0.1, forced=forced, meter=Scripted(loads), wait=quiet, say=lambda _: None)

    @staticmethod
    def good(transport, number):
        value = {"a": 1.0, "b": 2.0}.get(transport.name, 3.0)
        line = {"bench": "latency", "size": 8, "depth": 1, "median": value, "unit": "us"}
        return job.Done(0, json.dumps(line), "", False)

    program = programs.Program("mpi_bench", [], programs.parse_mpi_bench)
    two = [transports.Transport("a", ()), transports.Transport("b", ())]

    def test_in_turn(self):
        sitting = self.sitting([0.0] * 6, self.good)
        sitting.run([self.program], self.two, 3)
        self.assertEqual(self.started, ["a", "b"] * 3)
        self.assertEqual(sitting.values, {("latency", 8, 1): {"a": [1.0] * 3, "b": [2.0] * 3}})

    def test_disturbed_round_is_repeated(self):
        sitting = self.sitting([0.0, 0.9, 0.0, 0.0], self.good)
        sitting.run([self.program], self.two, 1)
        self.assertEqual(self.started, ["a", "b", "a", "b"])
        self.assertEqual(sitting.disturbed, 1)
        self.assertEqual(sitting.load_summary(), (0.0, 0.0))

    def test_refuses_when_busy(self):
        sitting = self.sitting([0.9] * 100, self.good)
        with self.assertRaises(noise.TooBusy):
            sitting.run([self.program], self.two, 2)
        self.assertEqual(sitting.values, {})

    def test_forced_reports_and_tells_the_load(self):
        sitting = self.sitting([0.9] * 4, self.good, forced=True)
        sitting.run([self.program], self.two, 2)
        self.assertEqual(len(sitting.values[("latency", 8, 1)]["a"]), 2)
        self.assertEqual(sitting.load_summary(), (0.9, 0.9))

    def test_transport_that_fails_is_left_out(self):
        def outputs(transport, number):
            return job.Done(1, "", "error: gone", False) if transport.name == "b" else self.good(transport, number)

        sitting = self.sitting([0.0] * 20, outputs)
        sitting.run([self.program], self.two, 2)
        self.assertEqual(sitting.failures, {("b", "mpi_bench"): "failed (error: gone)"})
        self.assertEqual(sitting.values, {("latency", 8, 1): {"a": [1.0, 1.0]}})

    def test_lfc_without_counters_is_not_measured(self):
        sitting = self.sitting([0.0] * 9, self.good)
        sitting.run([self.program], [transports.Transport("a", (), lfc=True)], 1)
        self.assertIn("no frames counted", sitting.failures[("a", "mpi_bench")])
        self.assertEqual(sitting.values, {})


VALUES = {
    ("latency", 8, 1): {"lfc": [0.1, 0.1, 0.1], "vader": [0.2, 0.2, 0.4], "ucx": [0.125, 0.125, 0.125]},
    ("latency", 1024, 1): {"lfc": [0.3, 0.3, 0.3], "vader": [0.3, 0.3, 0.3]},
    ("bw", 65536, 64): {"lfc": [9000.0] * 3, "vader": [10000.0] * 3, "ucx": [12000.0] * 3},
}
UNITS = {"latency": "us", "bw": "MB/s"}


class Reports(unittest.TestCase):
    def test_table(self):
        text = report.table(VALUES, UNITS, ["lfc", "vader", "ucx"])
        rows = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
        self.assertIn("0.50 [0.38..0.50] ", rows["8"])
        self.assertIn("0.80 [0.80..0.80]*", rows["8"])
        self.assertTrue(rows["1K"].rstrip().endswith("-"))
        self.assertIn("0.75 [0.75..0.75]*", rows["64K"])
        self.assertIn("latency [us, less is better]", text)
        self.assertIn("bw [MB/s, more is better]", text)
        lengths = {len(line) for line in text.splitlines() if "0.50 [" in line or "lfc/vader" in line}
        self.assertLessEqual(max(lengths) - min(lengths), 1)

    def test_json_lines(self):
        lines = [json.loads(line) for line in report.json_lines(VALUES, UNITS, ["lfc", "vader", "ucx"], {"compare": 1}).splitlines()]
        self.assertEqual(lines[0], {"compare": 1})
        ucx = next(line for line in lines[1:] if line["transport"] == "ucx" and line["bench"] == "bw")
        self.assertEqual((ucx["median"], ucx["ratio"]["median"], ucx["ratio"]["best"]), (12000.0, 0.75, True))
        self.assertEqual(len(lines), 1 + 8)

    def test_one_transport_has_no_ratio(self):
        text = report.table({("latency", 8, 1): {"tcp": [5.0]}}, UNITS, ["tcp"])
        self.assertNotIn("..", text)
        self.assertIn("5.00", text)

    def test_loggp_needs_everything(self):
        values = {("latency", 16, 1): {"a": [1.0]}, ("o_s", 16, 8): {"a": [0.1]}, ("o_r", 16, 8): {"a": [0.2]}}
        self.assertEqual(report.loggp_of(values, "a"), {})
        for size, gap in ((16, 0.4), (256 << 10, 100.0), (1 << 20, 886.432)):
            values[("gap", size, 64)] = {"a": [gap]}
        found = report.loggp_of(values, "a")
        self.assertAlmostEqual(found["L"][0].median, 0.7)
        self.assertAlmostEqual(found["G"][0].median, 1000.0)
        self.assertIn("0.700", report.loggp_table(values, ["a"]))

    def test_layers(self):
        values = {("layer_ring", 8, 1): {"liblfc": [0.05]}, ("layer_ni", 8, 1): {"liblfc": [0.1]}, ("latency", 8, 1): {"lfc": [0.2]}}
        units = {"layer_ring": "us", "layer_ni": "us", "latency": "us"}
        layers = [("ring", "layer_ring", "liblfc"), ("NI", "layer_ni", "liblfc"), ("MPI", "latency", "lfc")]
        rows = [line.split() for line in report.layer_table(values, units, layers).splitlines()[2:]]
        self.assertEqual([row[-1] for row in rows], ["1.00", "2.00", "4.00"])

    def test_figures(self):
        self.assertEqual([report.figure(v) for v in (0.1234, 2.345, 12.34, 12345.6, float("inf"))], ["0.123", "2.35", "12.3", "12346", "-"])
        self.assertEqual([report.size_text(s) for s in (8, 1024, 1500, 1 << 20)], ["8", "1K", "1500", "1M"])


class Switches(unittest.TestCase):
    def test_the_last_eager_size_is_found(self):
        for limit in (1024, 49096, 65535):
            self.assertEqual(switches.last_eager(lambda size, limit=limit: 200 if size <= limit else 600, 1024, 65536), limit)
        self.assertIsNone(switches.last_eager(lambda size: 200, 1024, 65536))

    def test_steps_are_paired(self):
        values = {("latency", at, 1): {"lfc": series} for at, series in ((99, [1, 2]), (100, [1, 2]), (101, [1.5, 3]))}
        values |= {("bw", at, 64): {"lfc": [rate]} for at, rate in ((99, 1000), (100, 1000), (101, 970))}
        text = switches.table(values, {"latency": "us", "bw": "MB/s"}, [("eager limit", 100), ("unmeasured", 7)], "lfc")
        rows = [line.split() for line in text.splitlines()[2:]]
        self.assertEqual([row[-2:] for row in rows], [["1.50", "[1.50..1.50]"], ["0.97", "[0.97..0.97]"]])
        self.assertEqual(switches.table({}, {}, [("eager limit", 100)], "lfc"), "")
        self.assertEqual(switches.benches([100]), ["latency:99,100,101", "bw:99,100,101"])


class Plots(unittest.TestCase):
    curves = {"l<f>c": [(8, 0.1, 0.2, 0.3), (1024, 0.3, 0.4, 0.5), (65536, 9, 10, 11)], "tcp": [(8, 5, 6, 7)]}

    def test_well_formed_and_inside(self):
        for log_y in (True, False):
            root = xml.etree.ElementTree.fromstring(plot.line_plot("a & b", "bytes", "us", self.curves, log_y))
            name = "{http://www.w3.org/2000/svg}"
            lines = root.findall(f"{name}polyline")
            self.assertEqual(len(lines), 2)
            self.assertEqual(len(root.findall(f"{name}circle")), 4)
            for shape in lines + root.findall(f"{name}polygon"):
                for pair in shape.get("points").split():
                    x, y = map(float, pair.split(","))
                    self.assertTrue(0 <= x <= plot.WIDTH and 0 <= y <= plot.HEIGHT, pair)
            self.assertIn("l<f>c", [text.text for text in root.findall(f"{name}text")])

    def test_higher_value_is_drawn_higher(self):
        root = xml.etree.ElementTree.fromstring(plot.line_plot("t", "x", "y", {"a": [(1, 1, 1, 1), (2, 9, 9, 9)]}, False))
        points = root.find("{http://www.w3.org/2000/svg}polyline").get("points").split()
        self.assertGreater(float(points[0].split(",")[1]), float(points[1].split(",")[1]))

    def test_equal_values_and_nothing(self):
        xml.etree.ElementTree.fromstring(plot.line_plot("t", "x", "y", {"a": [(8, 1, 1, 1)]}, True))
        with self.assertRaises(ValueError):
            plot.line_plot("t", "x", "y", {}, True)


class CommandLine(unittest.TestCase):
    def test_help_and_wrong_use(self):
        for script in ("compare", "profile"):
            told = subprocess.run([PERF / script, "--help"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(told.returncode, 0)
            self.assertIn("usage", told.stdout)
            wrong = subprocess.run([PERF / script, "--program", "true", "carrier-pigeon"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(wrong.returncode, 2, wrong.stderr)
            self.assertIn("no transport 'carrier-pigeon'", wrong.stderr)

    def test_benchmarks_of_the_library_say_how_they_are_called(self):
        for name in ("ring_bench", "layers", "tcp_bench"):
            program = build.find(name, "perf")
            if program is None:
                self.skipTest(f"{name} has not been built")
            for word, code in (("--help", 0), ("quickly", 2), ("0", 2)):
                told = subprocess.run([program, word], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(told.returncode, code, told.stderr)
                self.assertIn(f"usage: {name}", told.stdout + told.stderr)

    def test_refuses_a_busy_machine(self):
        # A load below zero is required, so any machine is too busy.
        command = [PERF / "compare", "--program", "true", "--max-load", "-1", "--patience", "0", "vader"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("REFUSED", refused.stderr)
        self.assertEqual(refused.stdout, "")


if __name__ == "__main__":
    unittest.main()
