"""`python -m nnapi_shim` is the command `nnapi-shim`."""

import sys

from nnapi_shim.cli import main

if __name__ == "__main__":
    sys.exit(main())
