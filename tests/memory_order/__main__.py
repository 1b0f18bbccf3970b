"""`make check-memory-order`: the protocols of the C code on a machine with C11's memory orders.

    .venv/bin/python -m tests.memory_order [--execution WORDS] [--table]

Prints a line for each protocol as it is, and for each order weakened in turn; fails where a
protocol has a finding, where a weakening has none and is not listed with a reason, and where one
that is listed has a finding. Then the same on Relacy, if it is installed. --execution prints the
execution of the findings whose line has these words, --table the tables of docs/memory-order.md,
without Relacy.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.memory_order import relacy
from tests.memory_order.checking import PROTOCOLS, Verdict, verdicts, weakenings
from tests.memory_order.exploration import explore
from tests.memory_order.litmus import CASES
from tests.memory_order.sources import differences


def _show(verdict: Verdict) -> None:
    found = verdict.finding or "nothing found"
    if verdict.states and not verdict.finding:
        found += f", {verdict.states} states"
    print(f"  {verdict.what}: {f'suffices: {verdict.why}' if verdict.why else found}")


def _show_row(verdict: Verdict) -> None:
    found = verdict.finding.partition(", after")[0] or f"nothing, in {verdict.states} states"
    print(f"| {verdict.what} | {f'nothing: {verdict.why}' if verdict.why else found} |")


def _with_relacy() -> list[str]:
    """Shows what Relacy finds; gives what is wrong."""
    wrong = []
    with TemporaryDirectory(prefix="memory-order-") as folder:
        checker = relacy.build(Path(folder))
        if checker is None:
            print(f"\n{relacy.ADVICE}")
            return []
        for protocol in PROTOCOLS:
            print(f"\n{protocol.name}, on Relacy")
            for line in relacy.lines(checker, protocol):
                found = line.finding or "nothing found"
                why = f": {line.missed}" if line.missed else ""
                print(f"  {line.what}: {found}, {line.executions} executions{why}")
                if not line.is_good:
                    wrong.append(f"{protocol.name}, on Relacy: {line.what}: {found}")
    return wrong


def _check_words(parser: argparse.ArgumentParser, words: str | None) -> None:
    """Ends with an error if no line with a finding has these words."""
    lines = [one.what for protocol in PROTOCOLS for one in weakenings(protocol)]
    if words is not None and not (words and any(words in line for line in lines)):
        allowed = "".join(f"\n  {line}" for line in dict.fromkeys(lines))
        parser.error(
            f"--execution {words!r}: no line with a finding has these words; the lines are{allowed}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--execution", help="print executions of the findings with these words")
    parser.add_argument("--table", action="store_true", help="print rows of a table")
    options = parser.parse_args(arguments)
    _check_words(parser, options.execution)
    wrong = [f"the C code is different: {line}" for line in differences(PROTOCOLS)]
    wrong += [
        f"litmus test {case.name}"
        for case in CASES
        if not case.is_as_expected(explore(case.setting()))
    ]
    show = _show_row if options.table else _show
    print(f"{len(CASES)} litmus tests of the machine")
    for protocol in PROTOCOLS:
        print(f"\n{protocol.name}")
        for verdict in verdicts(protocol):
            show(verdict)
            if options.execution and options.execution in verdict.what:
                print(*(f"      {step}" for step in verdict.execution), sep="\n")
            if not verdict.is_good:
                wrong.append(f"{protocol.name}: {verdict.what}: {verdict.finding or 'no finding'}")
    if not options.table:
        wrong += _with_relacy()
    print(f"\n{sum(os.times()[:4]):.1f} s of processor time")
    print(*(f"memory order: {line}" for line in wrong), sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
