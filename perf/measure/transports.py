"""The transports that can be compared: mpirun's arguments for each, and the evidence that it was used.

    transport = named("tcp", lab=False)
    mpirun + transport.arguments + program
    evidence = taken(done.err + done.out)      # {"pml": {"ob1"}, "btl": {"tcp"}}
    transport.problem(evidence)                # None, or a description of the problem
"""
import re
import shlex
from dataclasses import dataclass, field

# With these arguments Open MPI and UCX print the components that they use. They are only for runs that are not timed.
SHOW_SELECTION = (
    "--mca", "pml_base_verbose", "10",
    "--mca", "btl_base_verbose", "100",
    "--mca", "mtl_base_verbose", "10",
    "--mca", "coll_base_verbose", "10",
    "-x", "UCX_LOG_LEVEL=info",
)  # fmt: skip

_OB1 = ("--mca", "pml", "ob1")
# Debian's configuration switches osc/pt2pt off. Without it there is no one-sided communication between hosts.
_OSC = ("--mca", "osc", "^ucx")
_UCX = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "--mca", "osc", "^pt2pt")


@dataclass(frozen=True)
class Transport:
    name: str
    arguments: tuple
    # The evidence must have at least one of these names for each kind (pml, btl, mtl, ucx).
    expected: dict = field(default_factory=dict)
    lfc: bool = False  # must print counters

    def problem(self, evidence):
        """Returns None if the evidence shows that this transport was used, else the difference."""
        for kind, names in self.expected.items():
            seen = evidence.get(kind, set())
            if not seen & names:
                shown = ", ".join(sorted(seen)) or "nothing"
                return f"{kind} {' or '.join(sorted(names))} expected, {shown} was taken"
            if seen - names:
                return f"{kind} {', '.join(sorted(seen - names))} was taken as well"
        return None


def _table(lab, major):
    # On some machines Open MPI 5 finds no path between two ranks of one node without the interface's name. For plain
    # networks its mtl ofi needs the provider's name.
    tcp = ("--mca", "btl", "tcp,self") + (() if lab else ("--mca", "btl_tcp_if_include", "lo"))
    ofi = ("--mca", "pml", "cm", "--mca", "mtl", "ofi")
    provider = ("--mca", "mtl_ofi_provider_include", "tcp") if major >= 5 else ()
    ucx_tls = "tcp,self" if lab else "shm,self"
    ucx_expected = {"pml": {"ucx"}, "ucx": {"tcp"} if lab else {"sysv", "posix", "cma", "xpmem", "knem"}}
    lfc = _OB1 + ("--mca", "btl", "lfc", "--mca", "btl_lfc_stats", "1")
    shared_memory = {"pml": {"ob1"}, "btl": {"vader", "sm"}}
    return [
        Transport("lfc", lfc, {"pml": {"ob1"}, "btl": {"lfc"}}, lfc=True),
        # Open MPI's collectives over LFC's messages.
        Transport("tuned-lfc", lfc + ("--mca", "coll", "^lfc"), {"pml": {"ob1"}, "btl": {"lfc"}, "coll": {"tuned"}}, lfc=True),
        # LFC is loaded but not used, because vader has the higher exclusivity.
        Transport("vader+lfc", _OB1 + ("--mca", "btl", "vader,lfc,self", "--mca", "coll", "^lfc"), shared_memory),
        Transport("vader", _OB1 + ("--mca", "btl", "vader,self"), shared_memory),
        Transport("tcp", _OB1 + _OSC + tcp, {"pml": {"ob1"}, "btl": {"tcp"}}),
        Transport("mtl-ofi", _OSC + ofi + provider, {"pml": {"cm"}, "mtl": {"ofi"}}),
        Transport(
            "mtl-ofi-rxm",
            _OSC + ofi + ("--mca", "mtl_ofi_provider_include", "tcp;ofi_rxm"),
            {"pml": {"cm"}, "mtl": {"ofi"}},
        ),
        Transport("ucx", _UCX + ("-x", f"UCX_TLS={ucx_tls}"), ucx_expected),
    ]


def names():
    return [transport.name for transport in _table(False, 4)]


def named(word, lab, component_directory=None, major=4):
    """Returns the transport called `word`, or one made from NAME="MPIRUN ARGUMENTS". Raises ValueError.

    `major` is the major version of Open MPI.
    """
    name, equals, arguments = word.partition("=")
    if equals:
        words = tuple(shlex.split(arguments))
        lfc = _asks_for_lfc(words)
        found = Transport(name, words + (("--mca", "btl_lfc_stats", "1") if lfc else ()), {"btl": {"lfc"}} if lfc else {}, lfc)
    else:
        by_name = {transport.name: transport for transport in _table(lab, major)}
        by_name["sm"] = by_name["vader"]
        if name not in by_name:
            raise ValueError(f"no transport '{name}'; there are {', '.join(by_name)} and NAME=\"MPIRUN ARGUMENTS\"")
        found = by_name[name]
    # Open MPI needs the folder of this build's component; an installed component needs no argument.
    if _asks_for_lfc(found.arguments) and component_directory and "mca_base_component_path" not in found.arguments:
        path = ("--mca", "mca_base_component_path", f"{component_directory}:SYS_DEFAULT")
        found = Transport(found.name, path + found.arguments, found.expected, found.lfc)
    return found


def _asks_for_lfc(words):
    for at, word in enumerate(words[:-1]):
        if word == "btl" and "lfc" in words[at + 1].split(","):
            return True
    return False


_SELECTED = {
    "pml": re.compile(r"selected (\w+) best priority"),
    "btl": re.compile(r"mca: bml: Using (\w+) btl for send"),
    "mtl": re.compile(r"\( *mtl\) Selected component \[(\w+)\]"),
    "provider": re.compile(r"mtl:ofi:prov(?:ider)?: *(\S+)"),
}
_COLL = re.compile(r"coll:base:comm_select: selecting +(?!self\b)(\w+), priority +(\d+), Enabled")
_UCX_LANES = re.compile(r"UCX +INFO .*?tag\(([^)]*)\)")


def taken(text):
    """Returns the components in the verbose output of a run: {"pml": {...}, "btl": {...}, ...}, without `self`."""
    evidence = {kind: set(pattern.findall(text)) for kind, pattern in _SELECTED.items()}
    evidence["btl"].discard("self")
    # Open MPI calls the component of the highest priority among those that it has enabled.
    evidence["coll"] = {max(((int(priority), name) for name, priority in _COLL.findall(text)), default=(0, ""))[1]} - {""}
    lanes = {lane.split("/")[0] for config in _UCX_LANES.findall(text) for lane in config.split()}
    evidence["ucx"] = lanes - {"self"}
    return {kind: found for kind, found in evidence.items() if found}


def major_version(text):
    """Returns the major version, such as 4 for "mpirun (Open MPI) 4.1.4"; 4 if there is no number."""
    found = re.search(r"(\d+)\.\d+", text)
    return int(found.group(1)) if found else 4


def lfc_counters(text):
    """Returns {rank: {counter: value}} from lines `lfc-stats rank=R key=value ...`; values are numbers or texts."""
    counters = {}
    for line in text.splitlines():
        at = line.find("lfc-stats ")
        if at < 0:
            continue
        pairs = dict(word.split("=", 1) for word in line[at:].split()[1:] if "=" in word)
        if pairs.get("rank", "").isdigit():
            rank = int(pairs.pop("rank"))
            counters[rank] = {key: int(value) if value.isdigit() else value for key, value in pairs.items()}
    return counters


def lfc_problem(counters, ranks):
    """Returns None if every rank sent frames through LFC, else a text with the ranks that did not."""
    silent = [rank for rank in range(ranks) if not counters.get(rank, {}).get("frames_sent")]
    if silent:
        return f"no frames counted by LFC on rank {', '.join(map(str, silent))}"
    return None
