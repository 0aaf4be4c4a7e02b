"""Load: busy loops beside the tests.

    with Load(2):
        ...         # two processes compute meanwhile
"""

import os
import subprocess
import sys

# The loop ends by itself when the process that started it has ended.
_LOOP = """
import os
while os.getppid() == {parent}:
    for _ in range(1000000):
        pass
"""


class Load:
    def __init__(self, loops: int):
        self._loops = loops
        self._processes: list[subprocess.Popen] = []

    def __enter__(self) -> None:
        command = [sys.executable, "-S", "-c", _LOOP.format(parent=os.getpid())]
        for _ in range(self._loops):
            # In a session of its own: Ctrl-C ends the tests, and then __exit__() the loops.
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
