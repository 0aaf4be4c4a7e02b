"""One sitting: runs programs over transports, in turn and in rounds, and watches the load of the machine.

    sitting = Sitting(start=lambda transport, program: job.run(...), limit=0.1)
    sitting.run(programs, transports, pairs=9)
    sitting.values[("latency", 8, 1)]["lfc"]        # one value per round, in order

A round runs each program once over each transport, one right after the other. If other processes used the machine in a
round, it is discarded and repeated. After too many such rounds TooBusy is raised, unless the sitting is forced.
"""
from dataclasses import dataclass, field
from typing import Callable

from . import transports as transports_module
from .noise import Meter, TooBusy, wait_for_quiet
from .programs import Unreadable
from .statistics import quantile


@dataclass
class Sitting:
    start: Callable  # (transport, program) -> job.Done
    ranks: int
    limit: float  # cores that other processes may use
    patience: float = 60.0  # seconds to wait for quiet
    forced: bool = False
    meter: Callable = Meter
    wait: Callable = wait_for_quiet
    say: Callable = print
    values: dict = field(default_factory=dict)  # key -> {transport: [value per round]}
    units: dict = field(default_factory=dict)  # bench -> unit
    loads: list = field(default_factory=list)  # of all runs that count
    disturbed: int = 0  # rounds discarded
    failures: dict = field(default_factory=dict)  # (transport, program) -> why
    counters: dict = field(default_factory=dict)  # transport -> LFC's counters of the last run

    def run(self, programs, transports, pairs):
        for program in programs:
            rounds = spare = pairs
            while rounds > 0:
                alive = [t for t in transports if (t.name, program.name) not in self.failures]
                if not alive:
                    break
                quiet, measured, loads = self._round(program, alive)
                if measured is None:
                    continue  # a transport has failed: repeat the round without it
                if not quiet and not self.forced:
                    self.disturbed += 1
                    spare -= 1
                    if spare < 0:
                        worst = max(loads, key=lambda load: load.total)
                        raise TooBusy(f"{self.disturbed} rounds were disturbed, the last one by {worst}")
                    continue
                rounds -= 1
                self.loads += loads
                self._keep(measured)

    def _round(self, program, transports):
        if not self.forced:
            self.wait(self.limit, self.patience)
        measured, loads = {}, []
        for transport in transports:
            meter = self.meter()
            done = self.start(transport, program)
            loads.append(meter.read())
            problem = self._problem(transport, program, done, measured)
            if problem:
                self.failures[(transport.name, program.name)] = problem
                self.say(f"  {program.name} over {transport.name}: {problem}")
                return False, None, loads
        return all(load.total <= self.limit for load in loads), measured, loads

    def _problem(self, transport, program, done, measured):
        if done.timed_out or done.code != 0:
            return f"failed ({done.last_words()})"
        if transport.lfc:
            counters = transports_module.lfc_counters(done.err + "\n" + done.out)
            problem = transports_module.lfc_problem(counters, self.ranks)
            if problem:
                return problem
            self.counters[transport.name] = counters
        try:
            measured[transport.name] = program.parse(done.out + "\n" + done.err)  # NetPIPE prints to stderr
        except (Unreadable, ValueError, KeyError) as error:
            return f"output not understood: {error}"
        return None

    def _keep(self, measured):
        for name, points in measured.items():
            for point in points:
                self.units[point.bench] = point.unit
                self.values.setdefault(point.key, {}).setdefault(name, []).append(point.value)

    def load_summary(self):
        """Returns the (median, highest) load in cores during the runs that count."""
        totals = [load.total for load in self.loads]
        return (quantile(totals, 0.5), max(totals)) if totals else (0.0, 0.0)
