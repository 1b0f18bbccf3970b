"""The GPUs and NPUs that engines reach on this machine: conformance vectors and models on them.

    python -m tests.engines.accelerators vectors|models

Without one it says so, and is done: `make test-gpu`, `make bench-gpu`.
"""

import os
import sys

from nnapi_shim.drivers.engine_devices import ALL, chosen, of_engines
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import DeviceType
from nnapi_shim.hal.interfaces import IDevice

_COMMANDS = {"vectors": "tests.engines.vectors", "models": "tests.bench.suite"}


def accelerators() -> list[IDevice]:
    """The devices of installed engines that are no processors; one that does not load is named."""
    found = []
    for entry in of_engines(ALL):
        try:
            device = entry.load()
        except NnapiError as error:
            print(f"{entry.name} is left out: {error.message}")
            continue
        if device.type in (DeviceType.GPU, DeviceType.ACCELERATOR):
            found.append(device)
    return found


def main() -> None:
    """The command line; the process becomes that of the command."""
    if sys.argv[1:2] not in [[name] for name in _COMMANDS]:
        sys.exit(f"name one of {', '.join(_COMMANDS)}")
    (what,) = sys.argv[1:]
    devices = accelerators()
    if not devices:
        print(f"skipped: none of the installed engines ({', '.join(chosen(ALL))}) has a GPU or NPU")
        return
    names = [device.name for device in devices]
    for device in devices:
        print(f"{device.name}: {device.type.name} of {device.version}", flush=True)
    os.environ["DEVICES"] = ",".join(names)
    given = names if what == "vectors" else []
    os.execv(sys.executable, [sys.executable, "-m", _COMMANDS[what], *given])


if __name__ == "__main__":
    main()
