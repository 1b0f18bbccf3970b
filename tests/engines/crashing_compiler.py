"""A compiler that crashes before it answers (test_iree.py)."""

import os
import signal


def serve(control):
    os.kill(os.getpid(), signal.SIGSEGV)
