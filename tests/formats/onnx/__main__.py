"""Compute the test cases of the ONNX package.

    python -m tests.formats.onnx [--device NAME] [--kinds node,files,light] [OPERATOR...]

Prints how many cases are equal, equal with parameters as constants, refused by reason, or wrong;
exits with 1 where one is wrong.
"""

import argparse
import sys
from collections import Counter

from tests.formats.onnx.backend import file_cases, light_cases, node_cases, outcomes

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("operators", nargs="*", help="node cases of these; all by default")
    parser.add_argument("--device", default="nnapi-cpu")
    parser.add_argument("--kinds", default="node,files,light")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    failures = 0
    total: dict[str, Counter[str]] = {}
    for kind in ["node"] if chosen.operators else chosen.kinds.split(","):
        if kind == "node":
            cases = node_cases(*chosen.operators)
        else:
            cases = file_cases(*FOLDERS) if kind == "files" else light_cases()
        counts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for found in outcomes(cases, chosen.device):
            counts[found.kind] += 1
            if found.kind == "refused":
                reasons[found.why.partition(": ")[2].partition("model: ")[2] or found.why] += 1
            if found.kind == "wrong" or chosen.verbose:
                print(f"{found.kind}: {found.name} ({found.operators}): {found.why}")
        total[kind] = counts
        failures += counts["wrong"]
        for why, count in reasons.most_common():
            print(f"{count:6} {why[:220]}")
    for kind, counts in total.items():
        print(
            f"{kind}: {sum(counts.values())} cases, {counts['equal']} equal, {counts['constant']} "
            f"equal with parameters as constants, {counts['refused']} refused, "
            f"{counts['wrong']} wrong"
        )
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
