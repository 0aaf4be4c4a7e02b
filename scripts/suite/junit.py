"""JUnit: the ends of the tests as XML, for programs that show the results of a run."""

import xml.etree.ElementTree as xml
from pathlib import Path

from outcome import Run


class Junit:
    def __init__(self) -> None:
        self._cases: dict[str, xml.Element] = {}

    def ended(self, run: Run) -> None:
        """Adds the first run of a test."""
        folder, _, _ = run.test.name.rpartition("/")
        case = xml.Element("testcase", classname=folder or "lfc", name=run.test.name, time=f"{run.seconds:.1f}")
        if run.skipped:
            xml.SubElement(case, "skipped", message=run.reason())
        elif run.red:
            xml.SubElement(case, "failure", message=_printable(run.reason()))
        self._cases[run.test.name] = case

    def excuse(self, name: str) -> None:
        """Turns the failure of a test into a remark."""
        failure = self._cases[name].find("failure")
        if failure is not None:
            self._cases[name].remove(failure)
            xml.SubElement(self._cases[name], "system-out").text = "excused: " + failure.get("message", "")

    def write(self, path: Path) -> None:
        count = {kind: sum(case.find(kind) is not None for case in self._cases.values()) for kind in ("failure", "skipped")}
        seconds = sum(float(case.get("time", 0)) for case in self._cases.values())
        suite = xml.Element(
            "testsuite", name="lfc", tests=str(len(self._cases)), failures=str(count["failure"]), skipped=str(count["skipped"])
        )
        suite.set("time", f"{seconds:.1f}")
        suite.extend(self._cases.values())
        xml.indent(suite)
        xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    """XML has no place for most control characters, such as those of coloured output."""
    return "".join(character if character.isprintable() else "?" for character in text)
