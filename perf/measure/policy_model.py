"""The model of who should run the protocol: what a request costs under each policy, from a few measured numbers.

    machine = Machine(latency=1, floating_latency=1.02, wake_up=20, handler=1)      # us
    times = predict(machine, Program(gap=1000, requests=1))       # {"single": 1500, "floating": 1062, "fixed": None}
    recommend(times)                  # ("floating", 1.41): the best, and how many times longer the next takes

Falsafi and Wood (1996, section 4), who asked for T = C + L + u (w + O): C the computing between two MPI calls, L a
request to a partner that is inside MPI, u = C / (C + L) the chance that the partner computes when the request comes, w how
long it then waits, O what serving it takes from whoever computes there. Here

    single     w = C / 2, the rest of a gap that is interrupted in the middle on average; O = nothing, in passing
    floating   the thread notices after R, the watch interval, that its host computes: a request that comes before waits
               until then, R / 2 on average, and a wake-up, later ones for a wake-up only, unless the host is faster;
               O = wake-up + handler where no core is to spare; L as measured under floating, with all that it costs
    fixed      w = 0, O = 0, L + tax; the core that it takes is not there to compute with (not predicted without one)

With one difference to the seed: its Single was interrupted, or polled in every loop; today's looks only in MPI calls, so
that waiting grows with C.
"""
from dataclasses import dataclass

TIE = 1.05  # ratios below it are no difference


@dataclass(frozen=True)
class Machine:
    """What was measured, in us; slow_down: of a computing neighbour, as a factor."""

    latency: float
    floating_latency: float
    wake_up: float
    handler: float
    interval: float = 200.0  # R
    fixed_latency: float = 0.0
    slow_down: float = 1.0
    spare: bool = False


@dataclass(frozen=True)
class Program:
    gap: float  # us of computing between two MPI calls
    requests: float = 1.0  # to others per gap, each waited for


def utilisation(gap, latency):
    """The share of computing when nobody waits: u = C / (C + L)."""
    return gap / (gap + latency) if gap > 0 else 0.0


def predict(machine, program):
    """us for one gap and its requests under each policy; None where the policy cannot be had."""
    c, n = program.gap, program.requests

    def cycle(latency, wait, stolen, slow_down=1.0):
        u = utilisation(c, n * latency)
        return c * slow_down + n * (latency + u * (wait + stolen))

    times = {"single": cycle(machine.latency, c / 2, 0.0)}
    unnoticed = min(1.0, machine.interval / c) if c > 0 else 1.0  # share of a gap
    by_thread = unnoticed * machine.interval / 2 + machine.wake_up
    # A thread that comes too late finds nothing, and has taken nothing.
    useful = unnoticed < 1.0 and by_thread < c / 2
    stolen = machine.wake_up + machine.handler if useful and not machine.spare else 0.0
    times["floating"] = cycle(machine.floating_latency, by_thread if useful else c / 2, stolen)
    times["fixed"] = cycle(machine.fixed_latency, 0.0, 0.0, machine.slow_down) if machine.spare else None
    return times


def recommend(times):
    """The policy with the least time, and how many times longer the next takes; single if nothing is gained."""
    ordered = sorted((time, policy) for policy, time in times.items() if time is not None)
    best, policy = ordered[0]
    if times["single"] is not None and times["single"] <= best * TIE:
        policy, best = "single", times["single"]
    others = [time for other, time in times.items() if time is not None and other != policy]
    return policy, (min(others) / best if others else 1.0)


def judge(predicted, measured):
    """True: the model names the winner; False: another one; None: the measured times are a tie."""
    known = [policy for policy in predicted if predicted[policy] is not None and measured.get(policy) is not None]
    order = sorted(known, key=lambda policy: measured[policy])
    if len(order) < 2 or measured[order[1]] <= measured[order[0]] * TIE:
        return None
    return min(known, key=lambda policy: predicted[policy]) == order[0]
