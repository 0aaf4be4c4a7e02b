"""Divides tests into parts that take about as long, for machines that run one part each.

Tests that share another build than the usual one stay in one part. The row `build` is in every part: a test that builds
has only its own limit for it.
"""

from collections.abc import Callable

from table import Test


def part(tests: list[Test], number: int, parts: int, expected: Callable[[Test], float]) -> list[Test]:
    """Returns the part of this number, from 1, in the order of the table. `expected`: seconds of a test."""

    def seconds(several: list[Test]) -> float:
        return sum(map(expected, several))

    everywhere = [test for test in tests if test.name == "build"]
    groups: dict[str, list[Test]] = {}
    by_name = {test.name: test for test in tests}
    for test in tests:
        if test not in everywhere:
            groups.setdefault(_first_build(test, by_name), []).append(test)
    chosen: list[list[Test]] = [[] for _ in range(parts)]
    # The longest test comes first; each goes to the part with the smallest sum so far.
    for group in sorted(groups.values(), key=seconds, reverse=True):
        min(chosen, key=seconds).extend(group)
    mine = set(everywhere) | set(chosen[number - 1])
    return [test for test in tests if test in mine]


def _first_build(test: Test, tests: dict[str, Test]) -> str:
    """Returns the name of the build that it shares with others, behind other builds perhaps; or its own name."""
    for need in test.needs:
        if need != "build":
            return _first_build(tests[need], tests) if need in tests else need
    return test.name
