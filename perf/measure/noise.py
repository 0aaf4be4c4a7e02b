"""The load that other programs cause during a measurement.

    meter = Meter()
    ... run and wait for the processes that measure ...
    load = meter.read()           # Load(foreign=0.03, steal=0.0, seconds=2.1): cores, on average
    if load.total > limit: ...

Foreign CPU time is the time that /proc/stat counts as busy, without that of this process and the children it has waited
for. Interrupts are left out, because they contain the network's part of a measurement. `steal` is the time that the
hypervisor gave to other guests.
"""
import os
import resource
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    foreign: float  # cores that other programs used, on average
    steal: float  # cores that the hypervisor took
    seconds: float

    @property
    def total(self):
        return self.foreign + self.steal

    def __str__(self):
        return f"{self.foreign:.2f} cores foreign, {self.steal:.2f} stolen"


def parse_stat(text):
    """Returns (busy, steal) seconds since boot, of all cores, from the text of /proc/stat."""
    fields = [int(word) for word in text.splitlines()[0].split()[1:]]
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system = fields[0], fields[1], fields[2]
    steal = fields[7] if len(fields) > 7 else 0
    return (user + nice + system) / tick, steal / tick


def read_stat():
    with open("/proc/stat", encoding="ascii") as file:
        return parse_stat(file.read())


def own_cpu():
    """Returns the CPU seconds of this process and of all descendants that have been waited for."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


class Meter:
    """Measures from its construction to read(). Tests can replace the sources."""

    def __init__(self, stat=read_stat, own=own_cpu, clock=time.monotonic):
        self._sources = (stat, own, clock)
        self._start = (stat(), own(), clock())

    def read(self):
        (stat, own, clock), ((busy, steal), mine, began) = self._sources, self._start
        seconds = max(clock() - began, 1e-3)
        busy_now, steal_now = stat()
        foreign = (busy_now - busy) - (own() - mine)
        return Load(max(foreign, 0.0) / seconds, max(steal_now - steal, 0.0) / seconds, seconds)


class TooBusy(Exception):
    """The machine is not quiet enough to measure."""


def wait_for_quiet(limit, patience, meter=Meter, sleep=time.sleep, clock=time.monotonic):
    """Returns the load once it is at most `limit` cores; TooBusy after `patience` seconds."""
    deadline = clock() + patience
    while True:
        look = meter()
        sleep(0.5)
        load = look.read()
        if load.total <= limit:
            return load
        if clock() >= deadline:
            raise TooBusy(f"{load}; {limit:.2f} allowed")
