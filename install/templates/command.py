#!@PYTHON@ -I
"""The command nnapi-shim of this prefix, which may be moved."""

import sys
from pathlib import Path

PREFIX = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PREFIX / "@LIBRARIES@" / "@PRIVATE@"))

from nnapi_shim.cli import main  # noqa: E402

sys.exit(main())
