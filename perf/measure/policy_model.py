"""The model of who should run the protocol: what a request costs under each policy, from a few measured numbers.

    machine = Machine(latency=1, floating_latency=1.02, wait=100)      # us
    times = predict(machine, Program(gap=1000, requests=1))       # {"single": 1619, "floating": 1164, "fixed": None}
    recommend(times)                  # ("floating", 1.39): the best, and how many times longer the next takes

Falsafi and Wood (1996, section 4) asked for T = C + L + u (w + O): C the computing between two MPI calls, L a request
to a partner that is inside MPI, u the chance that the partner computes when the request comes, w how long it then waits, O
what serving it takes from whoever computes there. Here gaps are random, with C as their mean, so that what is left of one
that is interrupted is C again; and u is C / T, since whoever waits does not compute: one equation for T.

    single     w = C; O = nothing, in passing
    floating   w = C (1 - exp(-W / C)): what is left of the gap, but W at most, the wait for the NI thread;
               O = w where no core is to spare (on two cores it was seen to be as much); L as measured under floating
    fixed      w = 0, O = 0, L + tax; the core that it takes is not there to compute with (not predicted without one)

With one difference to the seed: its Single was interrupted, or polled in every loop; today's looks only in MPI calls, so
that waiting grows with C.
"""
import math
from dataclasses import dataclass

TIE = 1.05  # ratios below it are no difference


@dataclass(frozen=True)
class Machine:
    """What was measured, in us; slow_down: of a computing neighbour, as a factor."""

    latency: float
    floating_latency: float
    wait: float  # W
    fixed_latency: float = 0.0
    slow_down: float = 1.0
    spare: bool = False


@dataclass(frozen=True)
class Program:
    gap: float  # us of computing between two MPI calls
    requests: float = 1.0  # to others per gap, each waited for


def _time(gap, requests, latency, lost):
    """T = C + n L + n (C / T) lost, solved for T."""
    least = gap + requests * latency
    return (least + math.sqrt(least * least + 4 * gap * requests * lost)) / 2


def _waited(gap, wait):
    """What is left of a random gap with that mean, but `wait` at most."""
    return gap * -math.expm1(-wait / gap) if gap > 0 else 0.0


def wait_of(gap, time, latency, spare=False):
    """W, from what a gap and one request take under floating."""
    lost = max(0.0, (time - gap - latency) * time / gap)
    share = lost / gap if spare else lost / (2 * gap)
    return -gap * math.log1p(-min(share, 0.999))


def predict(machine, program):
    """us for one gap and its requests under each policy; None where the policy cannot be had."""
    c, n = program.gap, program.requests
    waited = _waited(c, machine.wait)
    taken = 0.0 if machine.spare else waited
    return {
        "single": _time(c, n, machine.latency, c),
        "floating": _time(c, n, machine.floating_latency, waited + taken),
        "fixed": _time(c * machine.slow_down, n, machine.fixed_latency, 0.0) if machine.spare else None,
    }


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
