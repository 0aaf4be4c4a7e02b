"""What perf/compare and perf/profile are made of. Standard library only."""
