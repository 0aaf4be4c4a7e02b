#!/usr/bin/env python3
"""Tests of perf/tailor: its input, its verdicts, its output.  python3 tests/scripts/test_tailor.py"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
from measure import channel_costs, planned_runs, tailoring  # noqa: E402

TITLE = "lfc-recording version=1 ranks=2 program=app digest=00000000000000ff\n"
SEND = "send comm=99/2 peer=1 tag=7 mode=standard persistent=no messages=100 pieces=0 sizes=8:90,16:10\n"
RECEIVE = "receive comm=99/2 peer=0 tag=7 persistent=no messages=100 pieces=0 sizes=64:100\n"


def costs_of(matched, channel):
    """Returns Costs from functions of kind, number in flight and bytes."""
    points = {}
    for kind in channel_costs.BENCHES:
        for flight in channel_costs.IN_FLIGHT:
            for size in channel_costs.SIZES:
                points[kind, flight, size] = (matched(kind, flight, size), channel(kind, flight, size))
    return channel_costs.Costs(points)


COSTS = costs_of(lambda kind, flight, size: 0.2 + 0.001 * size, lambda kind, flight, size: 0.1 + 0.0009 * size)
SHORT = 0.2 + 0.001 * 8


def recording(send=SEND, receive=RECEIVE, node=0, order="order\n"):
    return TITLE + "process rank=0 node=0\n" + send + order + f"process rank=1 node={node}\n" + receive + "order\n"


def judged(*texts, costs=COSTS, **named):
    (key,) = tailoring.judge(tailoring.parse(recording(*texts, **named)), costs)
    return key


class Judging(unittest.TestCase):
    def test_a_key_that_pays(self):
        key = judged()
        self.assertEqual(key.reason, "")
        saved = 90 * (0.1 + 0.0008) + 10 * (0.1 + 0.0016)
        self.assertAlmostEqual(key.gain, saved * 99 / 100 - 3 * SHORT)
        self.assertAlmostEqual(key.matched, 100 * 0.2 + (8 * 90 + 16 * 10) * 0.001)

    def test_each_side_of_a_message_gains_by_its_own_kind(self):
        costs = costs_of(lambda *_: 1.0, lambda kind, *_: 0.5 if kind == "ordinary" else 0.9)
        opening = 3 * 1.0
        persistent = [text.replace("persistent=no", "persistent=yes") for text in (SEND, RECEIVE)]
        for texts, saved in (((SEND, RECEIVE), 0.5), (persistent, 0.1), ((SEND, persistent[1]), 0.3), ((persistent[0], RECEIVE), 0.3)):
            self.assertAlmostEqual(judged(*texts, costs=costs).gain, 99 * saved - opening)
        half = RECEIVE.replace("messages=100", "messages=50").replace("64:100", "64:50")
        mixed = half + half.replace("persistent=no", "persistent=yes")
        self.assertAlmostEqual(judged(SEND, mixed, costs=costs).gain, 99 * (0.25 + 0.15) - opening)

    def test_what_gains_only_with_many_in_flight(self):
        costs = costs_of(lambda *_: 1.0, lambda kind, flight, size: 0.5 if flight >= 4 else 0.99)
        one = "receive comm=99/2 peer=1 tag=7 persistent=no messages=100 pieces=0 sizes=64:100\n"
        burst = judged(SEND + one, costs=costs, order="order 1*8 0*8 1*8 0*8\n")
        self.assertEqual((burst.in_flight, burst.reason), (8, ""))
        self.assertAlmostEqual(burst.gain, 50 * 0.92 - 3)
        single = judged(SEND + one, costs=costs, order="order 0 1 0 1 0 1\n")
        self.assertEqual(single.in_flight, 1)
        self.assertIn("saves less than 3 %", single.reason)
        self.assertEqual(judged(costs=costs).in_flight, 1)  # nothing is known
        self.assertEqual(judged(order="order 0*64\n").reason, "")
        self.assertIn("65 messages before it receives", judged(order="order 0*65\n").reason)

    def test_what_wildcards_touch_is_refused(self):
        for place in ("peer=any tag=7", "peer=0 tag=any", "peer=any tag=any"):
            wild = RECEIVE + f"receive comm=99/2 {place} persistent=no messages=3 pieces=0 sizes=8:3\n"
            self.assertIn("3 receives or probes with a wildcard", judged(SEND, wild).reason)
        elsewhere = RECEIVE + "receive comm=3/2 peer=any tag=any persistent=no messages=3 pieces=0 sizes=8:3\n"
        self.assertEqual(judged(SEND, elsewhere).reason, "")
        other = RECEIVE + "receive comm=99/2 peer=any tag=8 persistent=no messages=3 pieces=0 sizes=8:3\n"
        self.assertEqual(judged(SEND, other).reason, "")

    def test_what_else_is_refused_with_the_reason(self):
        probe = RECEIVE + "probe comm=99/2 peer=0 tag=7 persistent=no messages=2 pieces=0 sizes=0:2\n"
        self.assertIn("2 probes", judged(SEND, probe).reason)
        self.assertIn("different nodes", judged(node=1).reason)
        self.assertIn("100 messages meet 99 receives", judged(SEND, RECEIVE.replace("messages=100", "messages=99")).reason)
        self.assertIn("100 messages meet 0 receives", judged(SEND, "").reason)
        self.assertIn("longer than 4096 B", judged(SEND.replace("8:90,16:10", "5000:100")).reason)
        self.assertIn("one piece", judged(SEND.replace("pieces=0", "pieces=100")).reason)
        self.assertIn("synchronous", judged(SEND.replace("standard", "synchronous")).reason)
        few = [text.replace("messages=100", "messages=2").replace("8:90,16:10", "8:2") for text in (SEND, RECEIVE)]
        self.assertIn("2 messages are not worth", judged(*few).reason)
        self.assertEqual(judged(*few, costs=None).reason, "")
        swapped = costs_of(lambda *_: 0.1, lambda *_: 0.2)
        self.assertIn("saves less", judged(costs=swapped).reason)

    def test_messages_that_may_not_use_the_channel(self):
        self.assertIn("fewer than half", judged(SEND.replace("8:90,16:10", "8:49,5000:51")).reason)
        key = judged(SEND.replace("8:90,16:10", "8:90,5000:10"))
        self.assertAlmostEqual(key.gain, 90 * (0.1 + 0.0008) * 89 / 90 - (3 + 10) * SHORT)

    def test_to_oneself(self):
        text = TITLE + "process rank=0 node=0\n" + SEND.replace("peer=1", "peer=0") + RECEIVE + "order\nprocess rank=1 node=0\norder\n"
        (key,) = tailoring.judge(tailoring.parse(text), COSTS)
        self.assertIn("itself", key.reason)

    def test_prediction(self):
        keys = tailoring.judge(tailoring.parse(recording()), COSTS)
        self.assertEqual(tailoring.predicted(keys), (keys[0].matched, keys[0].gain))


class Texts(unittest.TestCase):
    def test_plan(self):
        read = tailoring.parse(recording())
        keys = tailoring.judge(read, COSTS)
        lines = tailoring.plan(read, keys).splitlines()
        self.assertEqual(lines, ["lfc-plan version=2 ranks=2 program=app digest=00000000000000ff", f"open comm=99/2 from=0 to=1 tag=7 messages=100 gain={keys[0].gain:.1f}"])

    def test_order_and_its_period(self):
        read = tailoring.parse(recording(send=3 * SEND, order="order 0 1*3 2 ... of 17 calls\n"))
        self.assertEqual(read.processes[0].order, [0, 1, 1, 1, 2])
        self.assertEqual(read.processes[0].notes, ["order: of 17 calls"])
        self.assertEqual(tailoring.period([9, 8, 0, 1, 2, 0, 1, 2, 0, 1, 2]), (2, 3))
        self.assertEqual(tailoring.period([5, 5, 5, 5]), (0, 1))
        self.assertIsNone(tailoring.period([0, 1, 2, 3, 4, 5, 6, 7, 7]))
        self.assertIsNone(tailoring.period([]))

    def test_what_is_no_recording(self):
        wrong = ("", "x\n", TITLE.replace("version=1", "version=2"), recording().replace("pieces=0 ", ""), recording() + "what\n", TITLE, SEND, recording(order="order 0 1\n"))
        for text in wrong:
            with self.assertRaises(tailoring.Unreadable, msg=text):
                tailoring.parse(text)

    def test_costs(self):
        text = channel_costs.text(COSTS)
        self.assertEqual(channel_costs.text(channel_costs.parse(text)), text)
        for wrong in ("nothing\n", text.replace("version=2", "version=1"), text.rpartition("persistent")[0]):
            with self.assertRaises(channel_costs.Unreadable):
                channel_costs.parse(wrong)

    def test_times_between_the_measured_ones(self):
        costs = costs_of(lambda kind, flight, size: size / flight, lambda *_: 0.0)
        for size, expected in ((0, 8), (8, 8), (36, 36), (1024, 1024), (10000, 10000)):
            self.assertAlmostEqual(costs.matched("ordinary", 1, size), expected)
        for flight, counts_as in ((0, 1), (1, 1), (3, 4), (8, 8), (9, 32), (33, 64), (1000, 64)):
            self.assertAlmostEqual(costs.gain("persistent", flight, 64), 64 / counts_as)

    def test_output_of_a_run(self):
        lines = '{"bench":"halo","size":8,"depth":2,"median":3,"min":1.5}\n{"bench":"x","size":8,"absent":"no"}\nok\n'
        self.assertEqual(planned_runs.figures(lines), {("halo", 8, 2): 1.5})
        stats = "lfc-channels rank=0 sent=5 here=3 early=1\nlfc-channels rank=1 sent=0 here=4 early=1\nlfc-coll rank=0 here=9\n"
        self.assertEqual(planned_runs.here(stats), 7)
        self.assertEqual(planned_runs.refusal("[vm:1] coll lfc: coll_lfc_channels plan:x: no plan\n"), "no plan")
        self.assertEqual(planned_runs.refusal(stats), "")

    def test_runs_take_turns(self):
        log = []
        found = planned_runs.in_turn(2, {"a": lambda: log.append("a") or len(log), "b": lambda: log.append("b") or len(log)})
        self.assertEqual((log, found), (["a", "b", "b", "a"], {"a": [1, 4], "b": [2, 3]}))


class CommandLine(unittest.TestCase):
    def run_tailor(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "messages"
            file.write_text(text, encoding="utf-8")
            return subprocess.run([PERF / "tailor", file, *arguments], capture_output=True, text=True, check=False)

    def test_codes(self):
        done = self.run_tailor(recording())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 of 1 keys get a channel, 100 of 100 messages", done.stdout)
        self.assertEqual(self.run_tailor(recording(node=1)).returncode, 1)
        done = self.run_tailor("nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("tailor: this is no recording", done.stderr)
        self.assertEqual(self.run_tailor(recording(), "--costs", "/nosuch").returncode, 2)
        self.assertEqual(self.run_tailor(recording(), "--run").returncode, 2)
        self.assertEqual(self.run_tailor(recording(), "--", "program").returncode, 2)


if __name__ == "__main__":
    unittest.main()
