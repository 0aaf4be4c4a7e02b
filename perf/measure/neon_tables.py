"""The tables of perf/neon: the programs that each runs, and its text with the thesis' values beside ours.

    bench = Bench(start, options, transports, paths)
    print(TABLES["5.1"](bench))        # bench.failures: programs that failed

Every cell of ours is `median [p25..p75]` over the rounds. The figures of one line are of the same jobs.
"""
import json
import statistics
from dataclasses import replace

from . import neon_thesis as thesis
from . import counting, job, report, transports
from .programs import Point, Program, Unreadable, mpi_bench
from .sitting import Sitting
from .statistics import paired_ratio, spread

# Counts in the lines of the programs of perf/apps that the tables use.
COUNTS = ("compute", "model", "barrier", "mean", "burst", "reports", "queue", "queue_ratio")


def parse(text):
    """Returns the points of a program of perf/apps, and its counts as points called BENCH.COUNT."""
    if "ok" not in text.splitlines():
        raise Unreadable("the program has not reported that its result is right")
    points = []
    for line in text.splitlines():
        data = json.loads(line) if line.startswith('{"bench"') else {"absent": ""}
        if "absent" in data:
            continue
        points.append(Point(data["bench"], data["size"], 1, data["median"], data["unit"]))
        for count in COUNTS:
            if count in data:
                points.append(Point(f"{data['bench']}.{count}", data["size"], 1, data[count], ""))
    if not points:
        raise Unreadable("the program printed no measurement")
    return points


def cell(values):
    """Returns `median [p25..p75]`, or `-` if there is no value."""
    if not values:
        return "-"
    s = spread(values)
    return f"{report.figure(s.median)} [{report.figure(s.p25)}..{report.figure(s.p75)}]"


def ratio(ours, theirs):
    """Returns the median and quartiles of the pairs' quotients."""
    pairs = [(a, b) for a, b in zip(ours, theirs) if b]
    return report.ratio_text(paired_ratio(*zip(*pairs))) if pairs else "-"


class Bench:
    """Runs programs over the transports in turn, in rounds, and collects their counters."""

    def __init__(self, start, options, wanted, paths):
        self.start, self.options, self.transports, self.paths = start, options, wanted, paths
        self.failures = {}
        self.sittings = []  # (name of the program, Sitting)

    def pick(self, full, short):
        return short if self.options.short else full

    def names(self):
        return [transport.name for transport in self.transports]

    def headings(self, columns):
        """Returns a heading of each column for each transport."""
        return [f"{name} {column}" for name in self.names() for column in columns]

    def _sit(self, program, ranks):
        sitting = Sitting(
            start=lambda transport, what: self.start(transport, what, ranks), ranks=ranks, limit=self.options.max_load,
            patience=self.options.patience, forced=self.options.force, say=self.options.progress,
        )  # fmt: skip
        self.options.progress(f"{program.name}, {ranks} ranks")
        sitting.run([program], self.transports, self.options.pairs)
        self.failures |= sitting.failures
        self.sittings.append((program.name, sitting))

        def found(transport, bench, size=None):
            for key, of_point in sitting.values.items():
                if key[0] == bench and size in (None, key[1]) and transport in of_point:
                    return of_point[transport]
            return []

        return found

    def app(self, name, arguments, ranks=None):
        """Returns a function (transport, bench) -> values of the rounds."""
        words = [str(word) for word in arguments]
        program = Program(f"{name} {' '.join(words)}", [self.paths[name], "--repeats", "3", *words], parse)
        return self._sit(program, ranks or self.options.ranks)

    def bench(self, specs):
        """Runs mpi_bench between two ranks; returns a function (transport, bench, size) -> values of the rounds."""
        program = mpi_bench(self.paths["mpi_bench"], specs, self.pick(0.1, 0.02), 3)
        return self._sit(replace(program, name=f"mpi_bench {' '.join(specs)}"), 2)

    def simulate(self, arguments):
        """Returns {algorithm: {quantity: value}} of the simulation of the load balancer, which has no transport."""
        seeds = str(self.pick(50, 10))
        words = ["--simulate", seeds, *(str(word) for word in arguments)]
        self.options.progress(f"slb {' '.join(words)}")
        done = job.run([self.paths["slb"], *words], self.options.timeout)
        if done.code != 0:
            raise Unreadable(f"slb: {done.last_words()}")
        found = {}
        for line in done.out.splitlines():
            if line.startswith('{"bench"'):
                data = json.loads(line)
                _, algorithm, quantity = data["bench"].split("_")
                of = found.setdefault(algorithm, {})
                of[quantity] = data["mean"]
                if quantity == "drops":
                    median, p25, p75 = (report.figure(data[key]) for key in ("median", "p25", "p75"))
                    of["quartiles"] = f"{median} [{p25}..{p75}]"
                    of |= {count: data[count] for count in ("burst", "reports", "queue", "queue_ratio")}
        return found

    def frames(self, name, option, arguments, ranks):
        """Returns the frames of one rank for one unit over the first transport.

        They are the difference of two jobs with different numbers of units.
        """
        few, more, sums = 200, 1200, []
        for units in (few, more):
            words = [self.paths[name], "--repeats", "1", *arguments, option, str(units)]
            done = self.start(self.transports[0], Program(name, words, parse), ranks)
            counters = transports.lfc_counters(done.err + "\n" + done.out)
            if done.code != 0 or not counters:
                raise Unreadable(f"{name}: {done.last_words()}")
            sums.append(counting.total(counters))
        return counting.per_unit(*sums, more - few).get("frames_sent", 0) / ranks

    def automaton(self, lines, row_bytes, ways, places=()):
        columns = row_bytes // 4 - 2
        most = self.pick(20_000_000, 1_000_000)
        iterations = max(20, min(2000, most // (lines * columns)))
        sizes = ["--percent", 200 / lines, "--columns", columns, "--iterations", iterations]
        return self.app("ca", ["--ways", ",".join(ways), *sizes, *places])


def table_5_1(bench):
    blocks = []
    for lines, of_thesis in thesis.TABLE_5_1.items():
        ways = [*of_thesis, "neon"]
        found = bench.automaton(lines, 4104, ways)
        ours = bench.headings(("us", "comm. %", "/ isend"))
        rows = [[f"{lines} lines, 4104 B", "thesis us", "thesis comm. %", "thesis / isend", *ours]]
        for way in ways:
            seconds, share = of_thesis.get(way, (None, None))
            row = [way, "-", "-", "-"]
            if seconds:
                row[1:] = [report.figure(thesis.per_iteration(seconds)), str(share)]
                row.append(f"{seconds / of_thesis['isend'][0]:.2f}")
            for t in bench.names():
                whole = found(t, f"ca_{way}")
                shares = [100 * (1 - min(1, alone / us)) for us, alone in zip(whole, found(t, f"ca_{way}.compute"))]
                row += [cell(whole), report.figure(statistics.median(shares)) if shares else "-"]
                row.append(ratio(whole, found(t, "ca_isend")))
            rows.append(row)
        blocks.append(report.columns(rows))
    title = "Table 5.1: an iteration of the cellular automaton, and the share of it that is not computing"
    return "\n".join([title, *blocks])


def table_5_2(bench):
    ways = list(thesis.TABLE_5_2)
    found = bench.bench([f"{way}:8,1K,1M" for way in ways])
    ours = bench.headings(("8 B us", "/ latency", "1 KiB MiB/s", "1 MiB MiB/s"))
    rows = [["ping-pong", "thesis us", "1 KB MiB/s", "1 MB MiB/s", *ours]]
    for way in ways:
        row = [way, *(f"{value:.2f}" for value in thesis.TABLE_5_2[way])]
        for t in bench.names():
            row += [cell(found(t, way, 8)), ratio(found(t, way, 8), found(t, "latency", 8))]
            row += [cell([size / us / 1.048576 for us in found(t, way, size)]) for size in (1 << 10, 1 << 20)]
        rows.append(row)
    title = "Table 5.2: half a round trip; latency: two-sided, pscw: MPI-2, announced: NEON. The thesis: 1, 1.25, 1.15\n"
    return title + report.columns(rows)


def table_5_3(bench):
    ways = ("isend", "pscw", "neon")
    sizes = bench.pick((136, 520, 4104, 16392), (136, 4104))
    quotients = ("neon / pscw", "neon / isend")
    rows = [["lines, bytes", "thesis us: isend, pscw, neon", *quotients, *bench.headings((*ways, *quotients))]]
    for lines in bench.pick((4, 16, 128, 512), (4, 16)):
        for size in sizes:
            two_sided, pscw, neon = thesis.TABLE_5_3[lines][size]
            times = [report.figure(thesis.per_iteration(seconds)) for seconds in (two_sided, pscw, neon)]
            row = [f"{lines}, {size}", ", ".join(times), f"{neon / pscw:.2f}", f"{neon / two_sided:.2f}"]
            found = bench.automaton(lines, size, ways)
            for t in bench.names():
                of_neon = found(t, "ca_neon")
                row += [cell(found(t, f"ca_{way}")) for way in ways]
                row += [ratio(of_neon, found(t, f"ca_{way}")) for way in ("pscw", "isend")]
            rows.append(row)
    return "Table 5.3: an iteration of the cellular automaton in us\n" + report.columns(rows)


def table_5_4(bench):
    rows = [["lines, 1024 B", "thesis us: pscw, neon", "neon / pscw", *bench.headings(("pscw", "neon", "neon / pscw"))]]
    for lines in bench.pick((10, 100, 1000), (10, 100)):
        pscw, neon = thesis.TABLE_5_4[lines]
        row = [str(lines), f"{report.figure(pscw)}, {report.figure(neon)}", f"{neon / pscw:.2f}"]
        found = bench.automaton(lines, 1024, ("pscw", "neon"))
        for t in bench.names():
            pscw, neon = found(t, "ca_pscw"), found(t, "ca_neon")
            row += [cell(pscw), cell(neon), ratio(neon, pscw)]
        rows.append(row)
    return "Table 5.4: an iteration of the cellular automaton in us\n" + report.columns(rows)


def skew_of(bench, noise="spikes"):
    return bench.app("skew", ["--noise", noise, "--iterations", bench.pick(60, 20)])


def figure_5_2(bench):
    title = "Figure 5.2: the front of synchronisation, delays of an iteration one time in 8: "
    return title + thesis.NO_VALUES + "\n" + skew_rows(bench, ("sendrecv", "isend"))


def figure_5_3(bench):
    found = skew_of(bench)
    rows = [["longest wait in the barrier at the end", *(f"{t} us" for t in bench.names())]]
    for way in ("sendrecv", "isend", "pscw", "neon"):
        rows.append([way, *(cell(found(t, f"skew_{way}.barrier")) for t in bench.names())])
    title = "Figure 5.3: time in the barrier at the end, delays of an iteration one time in 8: "
    return title + thesis.NO_VALUES + "\n" + report.columns(rows)


def figure_5_6(bench):
    lines = bench.pick(1000, 100)
    steps = bench.pick((0, 10, 25, 50, 75, 90, 100), (0, 50, 100))
    at_end = bench.automaton(lines, 1024, ("pscw", "neon"))
    rows = [["percent computed before", *bench.headings(("completion: pscw", "put: pscw", "put: neon"))]]
    for step in steps:
        completed = bench.automaton(lines, 1024, ("pscw",), ("--complete-at", step))
        put = bench.automaton(lines, 1024, ("pscw", "neon"), ("--push-at", step))
        row = [str(step)]
        for t in bench.names():
            row += [cell(completed(t, "ca_pscw")), cell(put(t, "ca_pscw")), cell(put(t, "ca_neon"))]
        rows.append(row)
    usual = [f"{t}: pscw {cell(at_end(t, 'ca_pscw'))}, neon {cell(at_end(t, 'ca_neon'))}" for t in bench.names()]
    title = f"Figure 5.6: us of an iteration, {lines} lines, by the place of a call: {thesis.FIGURE_5_6}"
    return f"{title}\n  usual places: {'; '.join(usual)}\n{report.columns(rows)}"


def drop_time(of, base):
    return of["drops"] / base["drops"] * of["answer"] / base["answer"] if base["drops"] else float("nan")


def table_c_1(bench):
    quantities = ("drops", "answer / wrr", "burst", "product")
    both = [f"{of} {what}" for of in ("thesis", "ours") for what in quantities]
    rows = [["servers, least credit", *both, "drops by seed"]]
    for kind, of_thesis in thesis.TABLE_C_1.items():
        base, answer = None, (thesis.TABLE_C_2 if kind == "equal" else thesis.TABLE_C_4)["wrr"][2]
        for least, (drops, answered, burst, product) in of_thesis.items():
            speeds = ["--unequal"] if kind == "unequal" else []
            found = bench.simulate(["--algorithms", "wrr,lwm", "--least-credit", least, *speeds])
            of = found["lwm"]
            quality = of["drops"] * of["answer"] / of["burst"] if of["burst"] else float("nan")
            base = base or quality
            row = [f"{kind}, {least}", f"{drops:.1f}", f"{answered / answer:.2f}", str(burst), f"{product:.2f}"]
            row += [f"{of['drops']:.1f}", f"{of['answer'] / found['wrr']['answer']:.2f}", f"{of['burst']:.0f}"]
            rows.append([*row, f"{quality / base:.2f}" if base else "-", of["quartiles"]])
    title = "Table C.1 and figure 6.3: lwm by its least credit; product: drops x answer time / burst, of that for 10\n"
    return title + report.columns(rows)


def load_table(title, of_thesis, found, base="wrr"):
    """Returns the rows of tables C.2 to C.5; `found` has the same names as the thesis' columns."""
    quantities = ("/ wrr", "answer / wrr", "queue", "ratio", "drop-time")
    rows = [["", "thesis: drops", *quantities, "ours: drops", *quantities, "burst", "drops by seed"]]
    first = of_thesis[base]
    for name, (drops, queue, answer, queues, product) in of_thesis.items():
        of, wrr = found[name], found[base]
        row = [name, str(drops), f"{drops / first[0]:.2f}", f"{answer / first[2]:.2f}"]
        row += [f"{queue:.1f}", f"{queues:.2f}", f"{product:.3f}"]
        row += [f"{of['drops']:.0f}", f"{of['drops'] / wrr['drops']:.2f}" if wrr["drops"] else "-"]
        row += [f"{of['answer'] / wrr['answer']:.2f}", f"{of['queue']:.1f}", f"{of['queue_ratio']:.2f}"]
        rows.append([*row, f"{drop_time(of, wrr):.3f}", f"{of['burst']:.0f}", of["quartiles"]])
    return title + "\n" + report.columns(rows)


def table_c_2(bench):
    return load_table("Table C.2: two equal servers, simulated", thesis.TABLE_C_2, bench.simulate([]))


def table_c_3(bench):
    found = bench.simulate([])
    blocks = []
    for error in (5, 10):
        found |= bench.simulate(["--algorithms", "wrr", "--weight-error", error])
        title = f"Table C.3: two equal servers, wrr with weights that are {error} % wrong, simulated"
        blocks.append(load_table(title, thesis.TABLE_C_3, found))
    return "\n".join(blocks)


def table_c_4(bench):
    found = bench.simulate(["--unequal"])
    rows = [["not in the thesis", "drops", "answer / wrr", "drop-time", "reports", "drops by seed"]]
    for name in ("rr", "lc", "sed"):
        of, wrr = found[name], found["wrr"]
        row = [name, f"{of['drops']:.0f}", f"{of['answer'] / wrr['answer']:.2f}", f"{drop_time(of, wrr):.3f}"]
        rows.append([*row, f"{of['reports']:.0f}", of["quartiles"]])
    table = load_table("Table C.4: servers of speeds 1 and 2, simulated", thesis.TABLE_C_4, found)
    return f"{table}\n{report.columns(rows)}"


def table_c_5(bench):
    found = bench.simulate(["--unequal", "--algorithms", "plain,dpr,wrr"])
    for error in (5, 10):
        found[f"wrr {error} %"] = bench.simulate(["--unequal", "--algorithms", "wrr", "--weight-error", error])["wrr"]
    title = "Table C.5: servers of speeds 1 and 2, weights that are 5 and 10 % wrong, simulated"
    return load_table(title, thesis.TABLE_C_5, found)


def load_figure(number, what, quantity, thesis_column):
    """Returns a function that prints a quantity of figures 6.4 to 6.7 for equal and unequal servers."""

    def figure(bench):
        equal, unequal = bench.simulate([]), bench.simulate(["--unequal"])
        source = f"the thesis' values of tables C.2 and C.4: {thesis_column}" if thesis_column else thesis.NO_VALUES
        rows = [["", *(["thesis equal", "thesis unequal"] if thesis_column else []), "ours equal", "ours unequal"]]
        for name in thesis.TABLE_C_2:
            row = [name]
            if thesis_column:
                at = ("drops", "queue", "answer time", "queue ratio", "drop-time").index(thesis_column)
                row += [report.figure(float(table[name][at])) for table in (thesis.TABLE_C_2, thesis.TABLE_C_4)]
            for of in (equal, unequal):
                ours = drop_time(of[name], of["wrr"]) if quantity == "drop-time" else of[name][quantity]
                row.append(report.figure(ours))
            rows.append(row)
        return f"Figure {number}: {what}; {source}\n" + report.columns(rows)

    return figure


def figure_6_8(_bench):
    return "Figure 6.8: the architecture of SlibNet: " + thesis.NO_VALUES


def figure_6_9(bench):
    common = ["--requests", bench.pick(10000, 3000), "--unequal", "--reports", "neon"]
    exact = bench.app("slb", [*common, "--algorithms", "rr,wrr,plain,dpr,lc,sed"], 3)
    wrong = bench.app("slb", [*common, "--algorithms", "wrr", "--weight-error", 10], 3)
    rows = [["answer time with communication, speeds 1 and 2", *(f"{t} us" for t in bench.names())]]
    for name in ("rr", "wrr", "wrr 10 %", "plain", "dpr", "lc", "sed"):
        found = wrong if name == "wrr 10 %" else exact
        rows.append([name, *(cell(found(t, f"slb_{name.split()[0]}_neon_answer")) for t in bench.names())])
    title = "Figure 6.9: response time, round robin with and without weights and SlibNet (plain): "
    return title + thesis.NO_VALUES + "\n" + report.columns(rows)


def skew_rows(bench, ways, noise="spikes"):
    found = skew_of(bench, noise)
    rows = [["", "predicted us", *bench.headings(("us", "/ predicted"))]]
    for way in ways:
        rows.append([way, cell(found(bench.names()[0], f"skew_{way}.model"))])
        for t in bench.names():
            rows[-1] += [cell(found(t, f"skew_{way}")), ratio(found(t, f"skew_{way}"), found(t, f"skew_{way}.model"))]
    return report.columns(rows)


def model(bench):
    """The model of 4.2 and 4.3: messages that announcement and notification need, and how delays spread."""
    blocks = ["Model of 4.2: messages to each neighbour for an iteration, if the communication system has buffers"]
    rows = [["", "predicted: announcement, data, notification", "sum", f"{bench.names()[0]} frames"]]
    for way, steps, least in (("isend", "0, 1, 0", "1"), ("neon", "0, 1, 0", "1"), ("pscw", "1, 1, 0 to 1", "2 to 3")):
        frames = bench.frames("ca", "--iterations", ["--quick", "--ways", way], bench.options.ranks)
        rows.append([way, steps, least, f"{frames / 2:.2f}"])
    blocks.append(report.columns(rows))
    blocks.append("  Where the target's memory is mapped (4.2.2.3), no message is needed.")
    blocks.append("Model of 4.3.6: us of an iteration in a ring with delays of one iteration, one time in 8")
    blocks.append(skew_rows(bench, ("sendrecv", "isend", "fence", "pscw", "neon", "notify")))
    return "\n".join(blocks)


def points_of(bench, title, names, sizes):
    found = bench.bench([f"{name}:{','.join(report.size_text(size) for size in sizes)}" for name in names])
    rows = [["", *(f"{t} {report.size_text(size)}" for t in bench.names() for size in sizes)]]
    for name in names:
        rows.append([name, *(cell(found(t, name, size)) for t in bench.names() for size in sizes)])
    return title + "\n" + report.columns(rows)


def early(bench):
    sizes = (8, 1 << 10, 8 << 10, 64 << 10)
    title = "Early puts (4.3.3.3): us of the call, and from NEON's announcement until the data is there"
    return points_of(bench, title, ("early_call", "early_arrival", "announced"), sizes)


def notification(bench):
    title = "Notification in the put and by a call of its own (4.4.2.1), us"
    return points_of(bench, title, ("announced", "announced_apart"), (8, 1 << 10, 64 << 10))


def pipeline(bench):
    found = bench.app("pipeline", ["--rows", bench.pick(1000, 200)])
    rows = [["", *bench.headings(("us of a row", "/ pscw"))]]
    for way in ("send", "pscw", "neon", "notify"):
        rows.append([way])
        for t in bench.names():
            times = found(t, f"pipeline_{way}")
            rows[-1] += [cell(times), ratio(times, found(t, "pipeline_pscw"))]
    return "Pipeline of ranks (Synch_p2p), 8 B\n" + report.columns(rows)


TABLES = {
    "5.1": table_5_1, "5.2": table_5_2, "5.3": table_5_3, "5.4": table_5_4,
    "figure-5.2": figure_5_2, "figure-5.3": figure_5_3, "figure-5.6": figure_5_6,
    "C.1": table_c_1, "C.2": table_c_2, "C.3": table_c_3, "C.4": table_c_4, "C.5": table_c_5,
    "figure-6.3": table_c_1,
    "figure-6.4": load_figure("6.4", "dropped requests", "drops", "drops"),
    "figure-6.5": load_figure("6.5", "answer time (us, gap 100; the thesis: gap 10,000)", "answer", "answer time"),
    "figure-6.6": load_figure("6.6", "drops times answer time, both of those of wrr", "drop-time", "drop-time"),
    "figure-6.7": load_figure("6.7", "requests until the first drop", "burst", None),
    "figure-6.8": figure_6_8, "figure-6.9": figure_6_9,
    "model": model, "early": early, "notification": notification, "pipeline": pipeline,
}  # fmt: skip
