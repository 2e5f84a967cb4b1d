"""Owns one process tree: starts a program, reports its end, and leaves nothing behind.

Started by `running.py` as a script, with nothing but the standard library. On Linux it is the
subreaper of all that it starts, so that a grandchild which left its group and lost its parent
comes back here to be killed and reaped. It ends everything when the program is over, when it is
told to, and when its own parent dies: each of the latter two closes the lifeline.

    keeper.py STATUS LIFELINE PROGRAM ARGUMENT...

STATUS and LIFELINE are descriptors. One line goes to STATUS when the program has started
(`pid NUMBER`) or could not be (`error ERRNO`), and one when it is over (`exit CODE`, negative for
a signal). Standard input, output and error are the program's. It imports little: its own start
is most of what running a short program costs.
"""

from __future__ import annotations

import os
import select
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36
_POLL_MILLISECONDS = 20
# Who wants this process to end closes its lifeline; a signal would leave the tree without keeper.
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    """Run one program to its end, or to the end of the lifeline."""
    status, lifeline = int(arguments[0]), int(arguments[1])
    command = arguments[2:]
    for descriptor in (status, lifeline):
        os.set_inheritable(descriptor, False)
    for one in _IGNORED:
        signal.signal(one, signal.SIG_IGN)
    adopts = _adopt_orphans()
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        pid = _spawn(command)
    except OSError as error:
        _tell(status, f"error {error.errno}")
        return 0
    _let_go_of_streams()
    _tell(status, f"pid {pid}")
    ended = _await_end(pid, lifeline, wake)
    _kill_tree(pid, adopts=adopts)
    if ended is not None:
        _tell(status, f"exit {ended}")
    return 0


def _adopt_orphans() -> bool:
    """Become the parent of every orphan below; return whether the system can do that."""
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _spawn(command: list[str]) -> int:
    """Start the program in a session of its own, with signals as a shell would leave them."""
    return os.posix_spawn(
        command[0],
        command,
        _environment(),
        setsid=True,
        setsigmask=(),
        setsigdef=[*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ],
    )


def _environment() -> dict[bytes, bytes]:
    """Return the environment that this process was given; Python adds a variable to its own."""
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read()
    except OSError:
        return dict(os.environb)
    return dict(one.split(b"=", 1) for one in given.split(b"\0") if b"=" in one)


def _let_go_of_streams() -> None:
    """Close the program's pipes here, so that they end when the program's tree does."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _tell(status: int, message: str) -> None:
    try:
        os.write(status, message.encode() + b"\n")
    except OSError:
        return  # nobody listens any more


def _await_end(pid: int, lifeline: int, wake: int) -> int | None:
    """Return the program's exit code; None when the lifeline ended first."""
    poller = select.poll()
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    poller.register(wake, select.POLLIN)
    ended: int | None = None
    while ended is None:
        for descriptor, _ in poller.poll():
            if descriptor == lifeline:
                return None
            os.read(wake, 4096)
        ended = _reap(pid)
    return ended


def _reap(pid: int) -> int | None:
    """Reap whoever is over; return the exit code of the program itself if it is among them."""
    found: int | None = None
    while True:
        try:
            child, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if child == 0:
            return found
        if child == pid:
            found = os.waitstatus_to_exitcode(state)


def _kill_tree(pid: int, *, adopts: bool) -> None:
    """Kill and reap until no descendant is left; orphans arrive as the dead are reaped."""
    while True:
        _kill_group(pid)
        if adopts:
            for child in _children(os.getpid()):
                _kill_below(child)
        _reap(pid)
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        select.select([], [], [], _POLL_MILLISECONDS / 1000)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _kill_below(pid: int) -> None:
    """Stop a process before its children are looked up, so that it cannot start more."""
    try:
        os.kill(pid, signal.SIGSTOP)
        for child in _children(pid):
            _kill_below(child)
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _children(pid: int) -> list[int]:
    """Return the living children of a process."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != b"Z":
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
