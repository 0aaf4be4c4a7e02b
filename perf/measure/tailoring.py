"""The analysis of perf/tailor: reads a recording, pairs the sent messages with the receives, and judges each key.

    recording = parse(text)                       # of coll_lfc_channels record:FILE
    keys = judge(recording, costs)                # [Key(..., reason="", gain=12.5), ...]; reason: why it is refused
    plan(recording, keys)                         # the text of a plan

A key is all messages of one communicator, sender, receiver and tag. Costs are channel_costs.Costs, or None. The model
is Felten's (1993, 7.2): T_pc = min(T_native, T_channel).
"""
from collections import defaultdict
from dataclasses import dataclass, field

from . import channel_costs

RECORDING = 1  # version of recordings
PLAN = 2  # of plans
LONGEST = 4096  # bytes of a message that takes a channel
NOTES = 3  # messages that open a channel: offer, wish, open
LEAST = 0.03  # share of its time that a message must gain; less is within the error of the costs


class Unreadable(ValueError):
    """The file is no recording."""


@dataclass(frozen=True)
class Call:
    """One kind of call of one process."""

    kind: str  # send, receive, probe
    rank: int
    comm: str
    peer: int | None  # None: any
    tag: int | None
    mode: str
    persistent: bool
    messages: int
    pieces: int  # messages of these that are not in one piece
    sizes: tuple  # of (bytes, messages)

    def can_match(self, sender, tag):
        return self.peer in (None, sender) and self.tag in (None, tag)


@dataclass
class Process:
    rank: int
    node: int
    calls: list = field(default_factory=list)
    order: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # calls that the recorder could not keep


@dataclass
class Recording:
    ranks: int
    program: str
    digest: str
    processes: dict


@dataclass
class Key:
    comm: str
    sender: int
    receiver: int
    tag: int
    messages: int
    bytes: int
    in_flight: int = 1  # messages that the sender usually sends before it receives from the receiver
    reason: str = ""
    matched: float = 0.0  # us of all messages without a channel; this and the next: 0 without costs
    gain: float = 0.0  # us that a channel saves

    @property
    def name(self):
        return f"comm={self.comm} from={self.sender} to={self.receiver} tag={self.tag}"


# --- Reading ---


def _fields(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def _number(text):
    return None if text == "any" else int(text)


def _sizes(text):
    return tuple(tuple(int(part) for part in pair.split(":")) for pair in text.split(","))


def _call(kind, rank, line):
    has = _fields(line)
    return Call(kind, rank, has["comm"], _number(has["peer"]), _number(has["tag"]), has.get("mode", ""), has["persistent"] == "yes", int(has["messages"]), int(has["pieces"]), _sizes(has["sizes"]))


def _order(line, process):
    for word in line.split()[1:]:
        if word == "...":
            process.notes.append("order: " + line.partition("... ")[2])
            return
        which, _, times = word.partition("*")
        process.order += [int(which)] * int(times or 1)


def parse(text):
    lines = text.splitlines()
    title = _fields(lines[0]) if lines and lines[0].startswith("lfc-recording ") else {}
    if title.get("version") != str(RECORDING):
        raise Unreadable(f"this is no recording of version {RECORDING}")
    processes, process = {}, None
    try:
        for line in lines[1:]:
            word = line.partition(" ")[0]
            if word == "process":
                has = _fields(line)
                process = processes[int(has["rank"])] = Process(int(has["rank"]), int(has["node"]))
            elif word in ("send", "receive", "probe"):
                process.calls.append(_call(word, process.rank, line))
            elif word == "order":
                _order(line, process)
            elif word == "unnoted":
                process.notes.append(line)
            elif word:
                raise Unreadable(f"what is this: {line}")
        recording = Recording(int(title["ranks"]), title["program"], title["digest"], processes)
    except (KeyError, ValueError, AttributeError) as problem:
        raise Unreadable(f"a line lacks something: {problem}") from problem
    if any(number >= len(process.calls) for process in processes.values() for number in process.order):
        raise Unreadable("an order names a call that is not there")
    if sorted(processes) != list(range(recording.ranks)):
        raise Unreadable(f"it has {len(processes)} of {recording.ranks} processes")
    return recording


# --- Judging ---


def _may_use(call, size):
    """Returns whether messages of this call and size may travel on a channel."""
    return call.mode in ("standard", "ready") and not call.pieces and size <= LONGEST


def _kind(call):
    return "persistent" if call.persistent else "ordinary"


def in_flight(process):
    """Returns {call: number of messages in flight}, for the calls of this process that send.

    A burst is all messages to a peer between two receives, of any kind, from this peer. The number is the length of
    the burst that has the middle one of the call's messages, if bursts are sorted by length. Waiting is not recorded, so
    a program that alternates MPI_Irecv and MPI_Isend counts as one with bursts of one message.
    """
    lengths, bursts = defaultdict(list), defaultdict(list)

    def end(peer):
        burst = bursts.pop(peer, [])
        for number in burst:
            lengths[number].append(len(burst))

    for number in process.order:
        call = process.calls[number]
        if call.kind == "send":
            bursts[call.peer].append(number)
        else:
            for peer in [call.peer] if call.peer is not None else list(bursts):
                end(peer)
    for peer in list(bursts):
        end(peer)
    return {process.calls[number]: sorted(found)[len(found) // 2] for number, found in lengths.items()}


def _reason(key, sends, meeting, same_node):
    """Returns why no channel may carry the key, apart from its costs. `meeting`: the calls that may get its messages."""
    if key.sender == key.receiver:
        return "a process sends to itself"
    if not same_node:
        return "the two are on different nodes"
    wild = sum(call.messages for call in meeting if call.peer is None or call.tag is None)
    if wild:
        return f"{wild} receives or probes with a wildcard can match"
    probes = sum(call.messages for call in meeting if call.kind == "probe")
    if probes:
        return f"{probes} probes find its messages"
    received = sum(call.messages for call in meeting)
    if received != key.messages:
        return f"{key.messages} messages meet {received} receives"
    most = channel_costs.IN_FLIGHT[-1]
    if key.in_flight > most:
        return f"the sender sends {key.in_flight} messages before it receives; more than {most} may not fit"
    able = sum(count for call in sends for size, count in call.sizes if _may_use(call, size))
    if 2 * able >= key.messages:
        return ""
    if all(call.mode not in ("standard", "ready") for call in sends):
        return "only synchronous or buffered messages"
    if all(call.pieces for call in sends):
        return "its messages are not in one piece"
    if all(size > LONGEST for call in sends for size, _ in call.sizes):
        return f"its messages are longer than {LONGEST} B"
    return "fewer than half of its messages may use a channel"


def _weigh(key, sends, meeting, costs):
    """Sets the gain of the key, and the reason if a channel does not pay.

    A message gains by both its calls, so half of the gain is that of the kind of either. The first burst goes without a
    channel. A message that may not use the channel costs a short message more.
    """
    able = native = saved = 0.0
    for call in sends:
        for size, count in call.sizes:
            if not _may_use(call, size):
                continue
            able += count
            native += count * costs.matched(_kind(call), key.in_flight, size)
            saved += count / 2 * costs.gain(_kind(call), key.in_flight, size)
            for other in meeting:
                saved += count / 2 * other.messages / key.messages * costs.gain(_kind(other), key.in_flight, size)
    if saved < LEAST * native:
        key.reason = f"a channel saves less than {100 * LEAST:.0f} % of the time of such messages"
        return
    gain = saved * (1 - key.in_flight / able) - costs.matched("ordinary", 1, 0) * (NOTES + key.messages - able)
    if gain > 0:
        key.gain = gain
    else:
        key.reason = f"{key.messages} messages are not worth a channel"


def judge(recording, costs=None):
    sends, meets = defaultdict(list), defaultdict(list)
    flights = {}
    for process in recording.processes.values():
        flights[process.rank] = in_flight(process)
        for call in process.calls:
            if call.kind == "send":
                sends[(call.comm, process.rank, call.peer, call.tag)].append(call)
            else:
                meets[(call.comm, process.rank)].append(call)
    keys = []
    for (comm, sender, receiver, tag), calls in sorted(sends.items()):
        key = Key(comm, sender, receiver, tag, sum(call.messages for call in calls), sum(size * count for call in calls for size, count in call.sizes))
        key.in_flight = max(flights[sender].get(call, 1) for call in calls)
        meeting = [call for call in meets[(comm, receiver)] if call.can_match(sender, tag)]
        key.reason = _reason(key, calls, meeting, recording.processes[sender].node == recording.processes[receiver].node)
        if costs:
            key.matched = sum(count * costs.matched(_kind(call), key.in_flight, size) for call in calls for size, count in call.sizes)
            if not key.reason:
                _weigh(key, calls, meeting, costs)
        keys.append(key)
    return keys


def predicted(keys):
    """Returns (us of all messages by matching, us that the plan saves)."""
    return sum(key.matched for key in keys), sum(key.gain for key in keys)


def period(order):
    """Returns (first, length) of the sequence that the calls repeat to their end, or None.

    It is repeated at least twice, and the repetitions are at least half of the calls.
    """
    back = order[::-1]
    fail = [0] * (len(back) + 1)
    best = None
    at = 0
    for length in range(2, len(back) + 1):
        while at and back[length - 1] != back[at]:
            at = fail[at]
        at += back[length - 1] == back[at]
        fail[length] = at
        repeated = length - at
        if 2 * repeated <= length and 2 * length >= len(back):
            best = (len(back) - length, repeated)
    return best


# --- Writing ---


def plan(recording, keys):
    lines = [f"lfc-plan version={PLAN} ranks={recording.ranks} program={recording.program} digest={recording.digest}"]
    lines += [f"open {key.name} messages={key.messages} gain={key.gain:.1f}" for key in keys if not key.reason]
    return "\n".join(lines) + "\n"
