"""Runs the fuzzer in a process of its own, and says how to run a failure again."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.fuzz.calls import Log
from tests.fuzz.comparison import compare
from tests.fuzz.running import run

SHOWN = 30


def main() -> int:
    """The command line; the exit status is 0 when nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--steps", help="tell these stories only, such as 5,9-20")
    parser.add_argument(
        "--minimise", action="store_true", help="look for fewer steps that fail, on one thread"
    )
    parser.add_argument(
        "--compare", action="store_true", help="compare result codes between devices, on one thread"
    )
    parser.add_argument("--log", help=argparse.SUPPRESS)  # in the child alone
    parser.add_argument("--trace", help=argparse.SUPPRESS)  # in a child that is compared
    inputs = parser.parse_args()
    numbers = parsed(inputs.steps) if inputs.steps else None
    if inputs.log:
        return run(inputs.seed, inputs.threads, inputs.calls, inputs.log, numbers, inputs.trace)
    if inputs.compare:
        steps = ["--steps", inputs.steps] if inputs.steps else []
        messages, is_equal = compare(inputs.seed, inputs.calls, steps)
        print(messages)
        if not is_equal:
            second = ["--compare", "--calls", inputs.calls, "--seed", inputs.seed, *steps]
            print("\nto run it again: python -m tests.fuzz", shlex.join(map(str, second)))
        return 0 if is_equal else 1
    with tempfile.NamedTemporaryFile() as log:
        status, output = child(inputs, log.name, numbers)
        print(output, end="")
        if status == 0:
            return 0
        print(f"\nthe last calls (thread, function, arguments); exit status {status}:")
        print("\n".join(Log.lines(log.name)[-SHOWN:]))
        second = ["--calls", inputs.calls, "--threads", inputs.threads, "--seed", inputs.seed]
        if inputs.steps:
            second += ["--steps", inputs.steps]
        print("\nto run it again: python -m tests.fuzz", shlex.join(map(str, second)))
        if inputs.minimise:
            fewest = minimise(inputs, log.name, numbers or list(range(inputs.calls)))
            print("fewest steps: --steps", listed(fewest))
        return 1


def parsed(text: str) -> list[int]:
    """Numbers from text such as `5,9-20`."""
    ends = [word.partition("-") for word in text.split(",")]
    return [n for low, _, high in ends for n in range(int(low), int(high or low) + 1)]


def listed(numbers: Sequence[int]) -> str:
    """Rising numbers as such a text."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def child(inputs: argparse.Namespace, log: str, numbers: Sequence[int] | None) -> tuple[int, str]:
    """Exit status and output of a run."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", "--log", log]
    command += ["--seed", str(inputs.seed), "--calls", str(inputs.calls)]
    command += ["--threads", str(inputs.threads)]
    if numbers is not None:
        command += ["--steps", listed(numbers)]
    silent = os.environ | {"NNAPI_SHIM_LOG": "silent"}
    result = subprocess.run(
        command, env=silent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return result.returncode, result.stdout


def minimise(inputs: argparse.Namespace, log: str, numbers: list[int]) -> list[int]:
    """Fewer steps that still fail: ever smaller parts are left out, as long as that is so."""

    def fails(chosen: list[int]) -> bool:
        return child(inputs, log, chosen)[0] != 0

    lowest, highest = 0, len(numbers)
    while highest - lowest > 1:  # where it fails
        middle = (lowest + highest) // 2
        lowest, highest = (lowest, middle) if fails(numbers[:middle]) else (middle, highest)
    numbers = numbers[:highest]
    part = max(1, len(numbers) // 2)
    while part:
        at = 0
        while at < len(numbers):
            fewer = numbers[:at] + numbers[at + part :]
            if fewer and fails(fewer):
                numbers = fewer
            else:
                at += part
        part //= 2
    return numbers


if __name__ == "__main__":
    sys.exit(main())
