"""The model behind perf/policy: the time of a request under each policy, from a few measured numbers.

    machine = Machine(latency=1, floating_latency=1.02, wait=100)      # us
    times = predict(machine, Program(gap=1000, requests=1))       # {"single": 1619, "floating": 1164, "fixed": None}
    recommend(times)                  # ("floating", 1.39): the best, and how many times longer the next takes

The model of Falsafi and Wood (1996, section 4) is T = C + L + u (w + O):

    C   the computing between two MPI calls
    L   the time of a request to a partner that is inside MPI
    u   the probability that the partner computes when the request arrives
    w   the time for which the request then waits
    O   the computing time that the partner loses by serving it

Here gaps are random, with C as their mean, so the mean rest of an interrupted gap is C again. A rank that waits does
not compute, so u is C / T. That leaves one equation for T. The policies have these values:

    single     w = C; O = 0
    floating   w = C (1 - exp(-W / C)): the rest of the gap, but at most W, the wait for the helper thread;
               O = w without a spare core (measured on two cores); L as measured under floating
    fixed      w = 0, O = 0, L + tax; it takes a core from computing (not predicted without a spare core)

The model differs from the paper in one point. The paper's Single was interrupted, or polled in every loop. The policy
`single` polls only in MPI calls, so that waiting grows with C.
"""
import math
from dataclasses import dataclass

TIE = 1.05  # ratios below it are no difference


@dataclass(frozen=True)
class Machine:
    """Measured times, in us. slow_down: a factor, for a local peer that computes."""

    latency: float
    floating_latency: float
    wait: float  # W
    fixed_latency: float = 0.0
    slow_down: float = 1.0
    spare: bool = False


@dataclass(frozen=True)
class Program:
    gap: float  # us of computing between two MPI calls
    requests: float = 1.0  # to other ranks per gap; the rank waits for each


def _time(gap, requests, latency, lost):
    """Solves T = C + n L + n (C / T) lost for T."""
    least = gap + requests * latency
    return (least + math.sqrt(least * least + 4 * gap * requests * lost)) / 2


def _waited(gap, wait):
    """Returns the mean rest of a random gap with that mean, but at most `wait`."""
    return gap * -math.expm1(-wait / gap) if gap > 0 else 0.0


def wait_of(gap, time, latency, spare=False):
    """Returns W, from the time of a gap and one request under floating."""
    lost = max(0.0, (time - gap - latency) * time / gap)
    share = lost / gap if spare else lost / (2 * gap)
    return -gap * math.log1p(-min(share, 0.999))


def predict(machine, program):
    """Returns us for one gap and its requests under each policy; None if the policy is not available."""
    c, n = program.gap, program.requests
    waited = _waited(c, machine.wait)
    taken = 0.0 if machine.spare else waited
    return {
        "single": _time(c, n, machine.latency, c),
        "floating": _time(c, n, machine.floating_latency, waited + taken),
        "fixed": _time(c * machine.slow_down, n, machine.fixed_latency, 0.0) if machine.spare else None,
    }


def recommend(times):
    """Returns the policy with the least time, and how many times longer the next takes; single if no policy gains."""
    ordered = sorted((time, policy) for policy, time in times.items() if time is not None)
    best, policy = ordered[0]
    if times["single"] is not None and times["single"] <= best * TIE:
        policy, best = "single", times["single"]
    others = [time for other, time in times.items() if time is not None and other != policy]
    return policy, (min(others) / best if others else 1.0)


def judge(predicted, measured):
    """Returns True: the model names the winner; False: another one; None: the measured times are a tie."""
    known = [policy for policy in predicted if predicted[policy] is not None and measured.get(policy) is not None]
    order = sorted(known, key=lambda policy: measured[policy])
    if len(order) < 2 or measured[order[1]] <= measured[order[0]] * TIE:
        return None
    return min(known, key=lambda policy: predicted[policy]) == order[0]
