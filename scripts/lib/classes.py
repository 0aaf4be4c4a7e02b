"""classes: functions and classes in C and C++, read without a compiler.

    sys.path.insert(0, str(tree / "scripts/lib"))
    from classes import scopes, with_bases
    found = {path: scopes(text) for path, text in ...}       # [Function | Class | Alias] of each file
    for each in with_bases(found): print(each.name, each.members, each.data, each.bools)
"""
import dataclasses, pathlib, re

ACCESS = re.compile(r"\b(public|private|protected)\s*:(?!:)")
TYPE = re.compile(r"(?:^|[\s>])(class|struct|union)\s+(?:alignas\s*\([^)]*\)\s*)?(?:\[\[[^\]]*\]\]\s*)?([\w:]+)[^()]*$")
NO_MEMBER = re.compile(r"(friend|using|static_assert|typedef|template\s*<.*>\s*friend)\b|"
                       r"(class|struct|union|enum(\s+(class|struct))?)\s+[\w:]+(\s*:\s*[\w:]+)?$")
BOOL = re.compile(r"(mutable\s+|volatile\s+)*(bool|std::atomic_bool|[\w:]+\s*<\s*bool\s*>|_Atomic\s*\(?\s*bool\)?)\s")


@dataclasses.dataclass
class Function:
    name: str
    line: int
    lines: int


@dataclasses.dataclass
class Member:
    name: str
    is_function: bool = False
    overrides: bool = False
    data: int = 0   # variables of each object
    bools: int = 0  # of these


@dataclasses.dataclass
class Alias:
    name: str    # with those of its namespaces and classes
    target: str  # as it is written


@dataclasses.dataclass
class Class:
    name: str
    scope: str   # "lfc::neon::Origin"; empty: none
    line: int
    bases: list  # names, as they are written
    own: list    # [Member]
    path: str = ""
    members: int = 0
    data: int = 0
    bools: int = 0


def without_comments(text):
    """Returns the text with comments, strings and lines of the preprocessor blanked; line breaks stay."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r'//[^\n]*|/\*.*?\*/|R"\((?s:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def plain(head):
    return ACCESS.sub(" ", head).strip()


def without_arguments(text):
    """Returns the text without arguments of templates, attributes and alignments."""
    text = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)", " ", text, flags=re.S)
    while True:
        shorter = re.sub(r"(?<![<\s])\s*<[^<>()]*(\([^()]*\)[^<>()]*)*>(?!>*=)", " ", text)
        if shorter == text:
            return text
        text = shorter


def bases_of(head):
    """Returns the names of the bases in the head of a class."""
    listed = re.search(r"(?<!:):(?!:)(.*)$", without_arguments(head), re.S)
    names = [re.findall(r"[\w:]+", part) for part in listed.group(1).split(",")] if listed else []
    return [words[-1] for words in names if words]


def joined(*names):
    return "::".join(name for name in names if name)


def alias_of(text, scope):
    """Returns the Alias that a declaration in this scope makes, or None."""
    found = re.fullmatch(r"using\s+(?:(\w+)\s*=\s*)?(?:::)?([\w:]+)", without_arguments(text).strip())
    return Alias(joined(scope, found.group(1) or found.group(2).split("::")[-1]), found.group(2)) if found else None


def member_of(text):
    """Returns the member that a declaration in a class makes, or None."""
    if not text or re.search(r"=\s*(delete|default)$", text) or NO_MEMBER.match(text):
        return None
    bare = without_arguments(re.sub(r"^template\s*<[^{};]*?>\s*(?=[\w\[])", "", text))
    operator = re.search(r"\boperator\s*([^\s\w(]+|\(\)|\w+)", bare)
    declared = re.split(r"(?<![=!<>])=(?!=)|\{", bare)[0]
    is_pointer = re.search(r"\(\s*(?:[\w:]+::)?\s*\*\s*(?:const\s+)?(\w+)", declared)
    if operator or ("(" in declared and not is_pointer):
        name = re.search(r"(~?\w+)\s*\(", declared)
        return Member("operator" + operator.group(1) if operator else name.group(1) if name else "", True,
                      bool(re.search(r"\b(override|final)\b", bare)))
    if re.match(r"(static|constexpr|inline|enum)\b", bare):
        return Member("")
    # A bit-field, an array or an initial value follows the name. Several names may share a type.
    outside = re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}|\([^()]*\)|\[[^\]]*\]", " ", bare)
    count = 1 + outside.count(",")
    return Member(is_pointer.group(1) if is_pointer else "", data=count, bools=count if BOOL.match(text) else 0)


def scopes(text):
    """Returns [Function | Class | Alias] of a file."""
    stack, head, line, found = [], "", 1, []
    parentheses = 0
    scope = lambda: joined(*[entry[1] for entry in stack if entry[0] in ("namespace", "class")])
    for c in without_comments(text):
        if c == "\n":
            line += 1
        if c in "([":
            parentheses += 1
        elif c in ")]":
            parentheses -= 1
        if c == "{" and parentheses <= 0:
            at = line - head.lstrip().count("\n")
            here = plain(head)
            outer = stack[-1][0] if stack else "namespace"
            kind, name = "block", ""
            if outer in ("namespace", "class"):
                type_ = TYPE.search(without_arguments(here))
                space = re.search(r"\bnamespace\s*([\w:]*)$", here)
                if space or here.endswith("extern"):
                    kind, name = "namespace", space.group(1) if space else ""
                elif re.search(r"\benum\b", here):
                    kind = "block"
                elif type_ and "=" not in here:
                    kind, name = "class", type_.group(2)
                elif "(" in here and not here.endswith("=") and not re.search(r"=\s*\w*$", here):
                    called = re.search(r"([~\w:]+|operator[^\s(]+)\s*\(", here)
                    # A member initialiser list ends where the body begins: `: a_{x}, b_(y) {`.
                    kind, name = ("function", called.group(1)) if called else ("block", "")
                    if re.search(r"\)[^)]*:[^)]*[,:]\s*\w+$", here) and not here.endswith(")"):
                        kind = "block"
            keep = kind == "block" and outer in ("namespace", "class")
            stack.append((kind, name, at, here, [], head + "{" if keep else ""))
            head = ""
        elif c == "}" and parentheses <= 0:
            if not stack:
                continue
            kind, name, at, here, members, kept = stack.pop()
            if kind == "function":
                found.append(Function(name, at, line - at + 1))
                if stack and stack[-1][0] == "class":
                    stack[-1][4].append(member_of(here) or Member(name, True))
            elif kind == "class":
                found.append(Class(name, scope(), at, bases_of(here), members))
            head = kept + "}" if kept else ""
        elif c == ";" and parentheses <= 0:
            member = member_of(plain(head)) if stack and stack[-1][0] == "class" else None
            alias = alias_of(plain(head), scope()) if "using" in head else None
            if member:
                stack[-1][4].append(member)
            if alias:
                found.append(alias)
            head = ""
        else:
            head += c
    return found


def nearest(found, path):
    """Returns the one whose file is nearest to this one."""
    parts = pathlib.PurePosixPath(path).parts

    def shared(each):
        pairs = zip(parts, pathlib.PurePosixPath(each[0]).parts)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(parts))
    return max(found, key=shared)[1]


class Names:
    """Classes and aliases of all files by their whole names."""

    def __init__(self, found):
        self.all = {}  # name -> [(path, Class | Alias)]
        for path, here in found.items():
            for each in here:
                if isinstance(each, Class):
                    self.all.setdefault(joined(each.scope, each.name), []).append((path, each))
                elif isinstance(each, Alias):
                    self.all.setdefault(each.name, []).append((path, each))

    def find(self, name, scope, path, depth=0):
        """Returns the class that a name in this scope of a file means, or None: it is of another project."""
        while depth < 8:
            found = [f for f in self.all.get(joined(scope, name), []) if f[0] == path or not f[0].endswith(".cpp")]
            each = nearest(found, path) if found else None
            if isinstance(each, Alias) and each.target != name:
                each = self.find(each.target, scope, path, depth + 1)
            if isinstance(each, Class):
                return each
            if not scope:
                return None
            scope = scope.rpartition("::")[0]
        return None


def inherited(each, names, seen):
    """Returns what a class has from its bases: no constructors, and no function that it overrides."""
    overridden = {m.name for m in each.own if m.overrides}
    found = []
    for name in each.bases:
        base = names.find(name, each.scope, each.path)
        if base is None or id(base) in seen:
            continue
        seen = seen | {id(base)}
        own_name = base.name.split("::")[-1]
        found += [m for m in base.own + inherited(base, names, seen)
                  if m.name.lstrip("~") != own_name and not (m.is_function and m.name in overridden)]
    return found


def with_bases(found):
    """Returns all classes of {path: scopes()}, with the sums of their members and those of their bases in the files."""
    names, classes = Names(found), []
    for path, here in found.items():
        for each in here:
            if isinstance(each, Class):
                each.path = path
                classes.append(each)
    for each in classes:
        all_members = each.own + inherited(each, names, {id(each)})
        each.members = len(all_members)
        each.data = sum(m.data for m in all_members)
        each.bools = sum(m.bools for m in all_members)
    return classes
