"""Runs one program to its end, undisturbed as far as possible, and never longer than allowed.

    done = run(["mpirun", "-n", "2", "./prog"], timeout=60)
    done.code, done.out, done.err, done.timed_out

The job is a session of its own. If the kernel schedules by session (autogroup), the job gets the highest weight, so
that other sessions disturb it less. `quiet_session_works()` returns whether that is permitted here.

Processes that the job leaves behind become children of this process, because mpirun does not wait for its remote
daemons. This process waits for them, and their CPU time counts as its own. So a process that uses run() must have no
other children meanwhile.
"""
import ctypes
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    timed_out: bool

    def last_words(self):
        """Returns the line of its output that explains the failure best."""
        if self.timed_out:
            return "timed out"
        text = self.err + "\n" + self.out
        missing = re.search(r"Framework:\s+(\w+)\s+Component:\s+(\S+)", text)
        if missing:
            return f"this Open MPI has no {missing.group(1)} {missing.group(2)}"
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if line and not set(line) <= set("-=*")]
        telling = [line for line in lines if re.search(r"error|cannot|fail|unable|wrong|too long", line, re.IGNORECASE)]
        return (telling or lines or [f"exit code {self.code}"])[0]


def _raise_session():
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-20")
    except OSError:
        pass  # then it is scheduled as any other session, which the report mentions


def quiet_session_works():
    """Returns whether a session's weight can be raised here."""
    probe = "echo -20 >/proc/self/autogroup"
    return subprocess.run(["sh", "-c", probe], start_new_session=True, stderr=subprocess.DEVNULL).returncode == 0


def session_members(session):
    """Returns the pids of a session's processes."""
    members = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(int(name))
    return members


def _kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _end_session(process):
    """Ends the job: sends mpirun a signal, so that it can clean up, and then kills the rest."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass
    for _ in range(20):
        members = session_members(process.pid)
        if not members:
            return
        _kill(members)
        time.sleep(0.05)


_PR_SET_CHILD_SUBREAPER = 36


def _reap_orphans(session):
    """Waits for processes that the job has left behind, and kills those that do not end."""
    deadline = time.monotonic() + 3
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        if time.monotonic() > deadline:
            _kill(session_members(session))
            if time.monotonic() > deadline + 3:
                return
        time.sleep(0.01)


def run(command, timeout, env=None):
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    environment = dict(os.environ, **(env or {}))
    if os.geteuid() == 0:
        environment.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        environment.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_raise_session,
            env=environment,
        )
    except OSError as error:
        return Done(127, "", str(error), False)
    try:
        out, err = process.communicate(timeout=timeout)
        return Done(process.returncode, out, err, False)
    except subprocess.TimeoutExpired:
        _end_session(process)
        out, err = process.communicate()
        return Done(process.returncode, out, err, True)
    except BaseException:  # an interrupt must not leave a job behind
        _end_session(process)
        raise
    finally:
        _reap_orphans(process.pid)
