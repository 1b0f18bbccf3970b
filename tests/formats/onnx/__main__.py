"""Compute the test cases of the ONNX package.

    python -m tests.formats.onnx [--device NAME] [--kinds node,files,light] [OPERATOR...]

Prints how many cases are equal, equal with parameters as constants, refused by reason, or wrong; of
the refused ones, how many run in parts with results equal to those of ONNX Runtime. Exits with 1
where one is wrong.
"""

import argparse
import sys
from collections import Counter

from tests.formats.onnx.backend import file_cases, light_cases, node_cases, outcomes

KINDS = ("equal", "constant", "refused", "wrong")
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
        for result in outcomes(cases, chosen.device):
            counts[result.kind] += 1
            counts[f"partial {result.partial}"] += 1
            if result.partial == "wrong" or (chosen.verbose and result.partial):
                print(f"partial {result.partial}: {result.name}: {result.why_partial}")
            if result.kind == "refused":
                reasons[result.why.partition(": ")[2].partition("model: ")[2] or result.why] += 1
            if result.kind == "wrong" or chosen.verbose:
                print(f"{result.kind}: {result.name} ({result.operators}): {result.why}")
        total[kind] = counts
        failures += counts["wrong"] + counts["partial wrong"]
        for why, count in reasons.most_common():
            print(f"{count:6} {why[:220]}")
    for kind, counts in total.items():
        print(
            f"{kind}: {sum(counts[name] for name in KINDS)} cases, {counts['equal']} equal, "
            f"{counts['constant']} equal with parameters as constants, {counts['refused']} "
            f"refused, {counts['wrong']} wrong; of the refused, in parts: "
            f"{counts['partial split']} equal on NNAPI and ONNX Runtime, {counts['partial peer']} "
            f"equal on ONNX Runtime alone, {counts['partial unknown']} that ONNX Runtime refuses, "
            f"{counts['partial refused']} refused, "
            f"{counts['partial wrong']} wrong"
        )
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
