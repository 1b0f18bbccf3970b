"""Devices that run in processes of their own.

What the device does there, a crash, an exit or a hang included, ends that process and nothing else:
the program gets DEAD_OBJECT, and its next compilation starts a new process.

In the program, `device.py` has the canonical interface; `process.py` starts a process (`start.py`)
and calls it. In the process, `boot.py` runs first, and `server.py` answers, with the device as it
would be in the program. `messages.py` has the format of what passes between them, `memory.py` the
memory that both map: that of the program's descriptors, and blocks for all other arguments.
"""
