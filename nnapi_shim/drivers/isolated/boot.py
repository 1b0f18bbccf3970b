"""The first code in the process of a device. It runs as a script, with the arguments: the
descriptors of a socket and a pipe, the search path for modules, in JSON, the module that answers,
and the name of the device or engine, for lists of processes.

The socket is that of the program; nobody writes to the pipe. When the program ends, or wants this
process to end, the pipe's other end is closed, and the kernel sends SIGKILL, whatever the process
is doing.
"""

import os
import sys

_F_SETSIG = 10
_LIKELY_VICTIM = "500"
"""Where memory runs out, the kernel ends this process rather than the program."""


def main() -> None:
    """Leave the program's family, and answer until the program ends."""
    import fcntl
    import signal

    control, lifeline = map(int, sys.argv[1:3])
    if os.fork():
        os._exit(0)  # the other one is nobody's child: its end sends the program no SIGCHLD
    # Ctrl-C is for the program. In a session of its own, the scheduler would let the two wait for
    # each other: in one, what a message wakes up runs at once.
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # lines on stderr do not stop it
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    if not _has_program(lifeline):
        os._exit(0)
    os.closerange(lifeline + 1, _limit())
    for each in (control, lifeline):
        os.set_inheritable(each, False)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_LIKELY_VICTIM)
    except OSError:
        pass
    import json
    from importlib import import_module

    sys.path[:] = json.loads(sys.argv[3])
    import_module(sys.argv[4]).serve(control)


def _has_program(lifeline: int) -> bool:
    """Whether the pipe was still open when the signal was set."""
    try:
        return os.read(lifeline, 1) != b""
    except BlockingIOError:
        return True


def _limit() -> int:
    import resource

    return max(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 1 << 16)


if __name__ == "__main__":
    main()
