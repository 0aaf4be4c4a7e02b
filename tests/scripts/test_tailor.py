#!/usr/bin/env python3
"""Tests of perf/tailor: its input, its verdicts, its output.  python3 tests/scripts/test_tailor.py"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PERF = Path(__file__).resolve().parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
from measure import tailoring  # noqa: E402

TITLE = "lfc-recording version=1 ranks=2 program=app digest=00000000000000ff\n"
SEND = "send comm=0/2 peer=1 tag=7 mode=standard persistent=yes messages=100 pieces=0 sizes=8:90,16:10\n"
RECEIVE = "receive comm=0/2 peer=0 tag=7 persistent=yes messages=100 pieces=0 sizes=64:100\n"
COSTS = tailoring.Costs((0.2, 0.001), (0.1, 0.0009))


def recording(send=SEND, receive=RECEIVE, node=0, order="order\n"):
    return TITLE + "process rank=0 node=0\n" + send + order + f"process rank=1 node={node}\n" + receive + "order\n"


def judged(*texts, costs=COSTS, **named):
    (key,) = tailoring.judge(tailoring.parse(recording(*texts, **named)), costs)
    return key


class Judging(unittest.TestCase):
    def test_a_key_that_pays(self):
        key = judged()
        self.assertEqual(key.reason, "")
        opening = 3 * 0.2
        self.assertAlmostEqual(key.gain, 90 * (0.1 + 0.0008) + 10 * (0.1 + 0.0016) - opening)

    def test_what_wildcards_touch_is_refused(self):
        for place in ("peer=any tag=7", "peer=0 tag=any", "peer=any tag=any"):
            wild = RECEIVE + f"receive comm=0/2 {place} persistent=no messages=3 pieces=0 sizes=8:3\n"
            self.assertIn("3 receives or probes with a wildcard", judged(SEND, wild).reason)
        elsewhere = RECEIVE + "receive comm=3/2 peer=any tag=any persistent=no messages=3 pieces=0 sizes=8:3\n"
        self.assertEqual(judged(SEND, elsewhere).reason, "")
        other = RECEIVE + "receive comm=0/2 peer=any tag=8 persistent=no messages=3 pieces=0 sizes=8:3\n"
        self.assertEqual(judged(SEND, other).reason, "")

    def test_what_else_is_refused_with_the_reason(self):
        probe = RECEIVE + "probe comm=0/2 peer=0 tag=7 persistent=no messages=2 pieces=0 sizes=0:2\n"
        self.assertIn("2 probes", judged(SEND, probe).reason)
        self.assertIn("different nodes", judged(node=1).reason)
        self.assertIn("100 messages meet 99 receives", judged(SEND, RECEIVE.replace("messages=100", "messages=99")).reason)
        self.assertIn("MPI_Send", judged(SEND.replace("persistent=yes", "persistent=no")).reason)
        self.assertIn("MPI_Recv", judged(SEND, RECEIVE.replace("persistent=yes", "persistent=no")).reason)
        self.assertIn("longer than 4096 B", judged(SEND.replace("8:90,16:10", "5000:100")).reason)
        self.assertIn("one piece", judged(SEND.replace("pieces=0", "pieces=100")).reason)
        self.assertIn("synchronous", judged(SEND.replace("standard", "synchronous")).reason)
        few = [text.replace("messages=100", "messages=2").replace("8:90,16:10", "8:2") for text in (SEND, RECEIVE)]
        self.assertIn("2 messages are not worth", judged(*few).reason)
        self.assertEqual(judged(*few, costs=None).reason, "")
        self.assertIn("not worth", judged(costs=tailoring.Costs(COSTS.channel, COSTS.native)).reason)

    def test_to_oneself(self):
        text = TITLE + "process rank=0 node=0\n" + SEND.replace("peer=1", "peer=0") + RECEIVE + "order\nprocess rank=1 node=0\norder\n"
        (key,) = tailoring.judge(tailoring.parse(text), COSTS)
        self.assertIn("itself", key.reason)

    def test_prediction(self):
        read = tailoring.parse(recording())
        keys = tailoring.judge(read, COSTS)
        native, saved = tailoring.predicted(read, keys, COSTS)
        self.assertAlmostEqual(native, 100 * 0.2 + (8 * 90 + 16 * 10) * 0.001)
        self.assertAlmostEqual(saved, keys[0].gain)


class Texts(unittest.TestCase):
    def test_plan(self):
        read = tailoring.parse(recording())
        lines = tailoring.plan(read, tailoring.judge(read, COSTS)).splitlines()
        self.assertEqual(lines, ["lfc-plan version=1 ranks=2 program=app digest=00000000000000ff", "open comm=0/2 from=0 to=1 tag=7 messages=100"])

    def test_order_and_its_period(self):
        read = tailoring.parse(recording(order="order 0 1*3 2 ... of 17 calls\n"))
        self.assertEqual(read.processes[0].order, [0, 1, 1, 1, 2])
        self.assertEqual(read.processes[0].notes, ["order: of 17 calls"])
        self.assertEqual(tailoring.period([9, 8, 0, 1, 2, 0, 1, 2, 0, 1, 2]), (2, 3))
        self.assertEqual(tailoring.period([5, 5, 5, 5]), (0, 1))
        self.assertIsNone(tailoring.period([0, 1, 2, 3, 4, 5, 6, 7, 7]))
        self.assertIsNone(tailoring.period([]))

    def test_what_is_no_recording(self):
        for text in ("", "x\n", TITLE.replace("version=1", "version=2"), recording().replace("pieces=0 ", ""), recording() + "what\n", TITLE, SEND):
            with self.assertRaises(tailoring.Unreadable, msg=text):
                tailoring.parse(text)

    def test_costs(self):
        a, b = tailoring.line({8: 0.108, 100: 0.2, 1000: 1.1})
        self.assertAlmostEqual(a, 0.1)
        self.assertAlmostEqual(b, 0.001)
        self.assertEqual(tailoring.parse_costs(tailoring.costs_text(COSTS)), COSTS)
        with self.assertRaises(tailoring.Unreadable):
            tailoring.parse_costs("nothing\n")


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


if __name__ == "__main__":
    unittest.main()
