"""The parts of perf/compare and the other programs of perf/. They use the standard library only."""
