"""The analysis of perf/tailor: reads a recording, pairs the sent messages with the receives, and judges each key.

    recording = parse(text)                       # of coll_lfc_persistent record:FILE
    keys = judge(recording, costs)                # [Key(..., reason="", gain=12.5), ...]; reason: why it is refused
    plan(recording, keys)                         # the text of a plan

A key is all messages of one communicator, sender, receiver and tag. Costs come from `perf/tailor --measure`. A message
of n bytes takes T = a + b n; a and b differ between matching and channels. The model is Felten's (1993, 7.2):
T_pc = min(T_native, T_channel).
"""
import re
from collections import defaultdict
from dataclasses import dataclass, field

VERSION = 1
LONGEST = 4096  # bytes of a message that takes a channel
NOTES = 3  # messages that open a channel: offer, wish, open


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
    reason: str = ""
    gain: float = 0.0  # us, of all messages; 0 without costs

    @property
    def name(self):
        return f"comm={self.comm} from={self.sender} to={self.receiver} tag={self.tag}"


@dataclass(frozen=True)
class Costs:
    """The us of one message of n bytes, as (a, b) of a + b n."""

    native: tuple
    channel: tuple

    @staticmethod
    def _at(line, size):
        return line[0] + line[1] * size

    def gain(self, size):
        return max(0.0, self._at(self.native, size) - self._at(self.channel, size))

    def opening(self):
        return NOTES * self._at(self.native, 0)


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
    if title.get("version") != str(VERSION):
        raise Unreadable(f"this is no recording of version {VERSION}")
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
    if sorted(processes) != list(range(recording.ranks)):
        raise Unreadable(f"it has {len(processes)} of {recording.ranks} processes")
    return recording


# --- Judging ---


def _served(call):
    """Returns (bytes, messages) of the messages that a channel may carry."""
    if call.mode not in ("standard", "ready") or not call.persistent or call.pieces:
        return []
    return [(size, count) for size, count in call.sizes if size <= LONGEST]


def _reason(key, sends, receiver, same_node):
    """Returns why no channel may carry the key, apart from its costs."""
    if key.sender == key.receiver:
        return "a process sends to itself"
    if not same_node:
        return "the two are on different nodes"
    meeting = [call for call in receiver.calls if call.comm == key.comm and call.kind != "send" and call.can_match(key.sender, key.tag)]
    wild = sum(call.messages for call in meeting if call.peer is None or call.tag is None)
    if wild:
        return f"{wild} receives or probes with a wildcard can match"
    probes = sum(call.messages for call in meeting if call.kind == "probe")
    if probes:
        return f"{probes} probes find its messages"
    received = sum(call.messages for call in meeting)
    if received != key.messages:
        return f"{key.messages} messages meet {received} receives"
    if not any(call.persistent for call in sends):
        return "MPI_Send and MPI_Isend gain nothing by a channel"
    if not any(call.persistent for call in meeting):
        return "MPI_Recv and MPI_Irecv gain nothing by a channel"
    if not any(_served(call) for call in sends):
        if all(call.mode not in ("standard", "ready") for call in sends):
            return "only synchronous or buffered messages"
        if all(call.pieces for call in sends):
            return "its messages are not in one piece"
        return f"its messages are longer than {LONGEST} B"
    return ""


def judge(recording, costs=None):
    sends = defaultdict(list)
    for process in recording.processes.values():
        for call in process.calls:
            if call.kind == "send":
                sends[(call.comm, process.rank, call.peer, call.tag)].append(call)
    keys = []
    for (comm, sender, receiver, tag), calls in sorted(sends.items()):
        key = Key(comm, sender, receiver, tag, sum(call.messages for call in calls), sum(size * count for call in calls for size, count in call.sizes))
        to = recording.processes[receiver]
        key.reason = _reason(key, calls, to, recording.processes[sender].node == to.node)
        if not key.reason and costs:
            key.gain = sum(count * costs.gain(size) for call in calls for size, count in _served(call)) - costs.opening()
            if key.gain <= 0:
                key.reason = f"{key.messages} messages are not worth a channel"
                key.gain = 0.0
        keys.append(key)
    return keys


def predicted(recording, keys, costs):
    """Returns (us of all messages by matching, us that the plan saves)."""
    native = sum(costs.native[0] * key.messages + costs.native[1] * key.bytes for key in keys)
    return native, sum(key.gain for key in keys)


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
    lines = [f"lfc-plan version={VERSION} ranks={recording.ranks} program={recording.program} digest={recording.digest}"]
    lines += [f"open {key.name} messages={key.messages}" for key in keys if not key.reason]
    return "\n".join(lines) + "\n"


def line(points):
    """Returns (a, b) of the line a + b n nearest to {n: us}, by least squares of relative errors; a, b >= 0."""
    weights = {size: 1 / us**2 for size, us in points.items()}
    total = sum(weights.values())
    mean_size = sum(weights[size] * size for size in points) / total
    mean_us = sum(weights[size] * us for size, us in points.items()) / total
    spread = sum(weights[size] * (size - mean_size) ** 2 for size in points)
    slope = sum(weights[size] * (size - mean_size) * (us - mean_us) for size, us in points.items()) / spread if spread else 0.0
    slope = max(0.0, slope)
    return (max(0.0, mean_us - slope * mean_size), slope)


def costs_text(costs):
    return f"lfc-costs version={VERSION} native={costs.native[0]:.6f},{costs.native[1]:.9f} channel={costs.channel[0]:.6f},{costs.channel[1]:.9f}\n"


def parse_costs(text):
    found = re.search(r"^lfc-costs version=1 native=([\d.]+),([\d.]+) channel=([\d.]+),([\d.]+)$", text, re.MULTILINE)
    if not found:
        raise Unreadable("these are no costs")
    a, b, c, d = (float(number) for number in found.groups())
    return Costs((a, b), (c, d))
