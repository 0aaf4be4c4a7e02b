"""agent.py SHARE NODE: runs jobs in a guest of scripts/rdma-box.

A job is a folder below SHARE/jobs with a file `command`. bash runs it, and `output`, `error` and at the end `status`
appear beside it. The agent receives the folder's name as a line: from the host by a port of virtio, from another node
by TCP (scripts/lib/rdma/rsh). Over TCP it returns the status.
"""

import os
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

PORT = 7777
SHARE = Path(sys.argv[1])
NODE = sys.argv[2]


def run(name: str) -> int:
    job = SHARE / "jobs" / name
    with (job / "output").open("ab") as output, (job / "error").open("ab") as error:
        process = subprocess.Popen(
            ["bash", job / "command"], stdin=subprocess.DEVNULL, stdout=output, stderr=error, start_new_session=True
        )
        status = process.wait()
    status = status if status >= 0 else 128 - status
    (job / "status.new").write_text(f"{status}\n")
    os.rename(job / "status.new", job / "status")
    return status


class FromNode(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        status = run(self.rfile.readline().decode().strip())
        self.wfile.write(f"{status}\n".encode())


def main() -> None:
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    server = socketserver.ThreadingTCPServer(("", PORT), FromNode)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (port,) = Path("/dev").glob("vport*")
    with port.open("rb", buffering=0) as bell:
        (SHARE / f"{NODE}.ready").touch()
        line = b""
        while byte := bell.read(1):
            line += byte
            if byte == b"\n":
                threading.Thread(target=run, args=(line.decode().strip(),), daemon=True).start()
                line = b""


main()
