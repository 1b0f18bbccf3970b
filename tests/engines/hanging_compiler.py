"""A compiler that never answers (test_iree.py); it tells its process in the file PID_FILE."""

import os
import time
from pathlib import Path


def serve(control):
    Path(os.environ["PID_FILE"]).write_text(str(os.getpid()))
    time.sleep(3600)
