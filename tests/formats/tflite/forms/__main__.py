"""Go through every form.

    python -m tests.formats.tflite.forms [OPERATOR...]

Prints how many forms are equal and how many are refused, by reason; exits with 1 where numbers
differ, or where something is refused for a reason that the list does not name.
"""

import sys
from collections import Counter

from tests.formats.tflite.forms.checking import Outcome, outcomes
from tests.formats.tflite.forms.every import every
from tests.formats.tflite.forms.form import Form
from tests.formats.tflite.forms.refused import REASONS, reason_of
from tests.formats.tflite.running import DEVICES

RUNS = 4


def wrong(form: Form, result: Outcome) -> str:
    """What is wrong with an outcome; "" for nothing."""
    if result.kind in ("equal", "litert"):
        return ""
    if result.kind == "refused" and reason_of(form, result.why):
        return ""
    return f"{form}: {result.kind}: {result.why}"


def main(operators: list[str]) -> int:
    """Go through them; how many are wrong."""
    forms = [form for form in every() if not operators or form.operator in operators]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failures = 0
    for form, result in outcomes(forms, DEVICES, RUNS):
        counts[result.kind] += 1
        if result.kind == "refused":
            reasons[reason_of(form, result.why) or result.why] += 1
        messages = wrong(form, result)
        if messages:
            failures += 1
            print(messages)
    print(f"{len(forms)} files; LiteRT itself refuses {counts['litert']} of them")
    print(f"{counts['equal']} equal, {counts['refused']} refused, {failures} wrong")
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    unused = [reason for reason in REASONS if not reasons[reason]]
    if unused and not operators:
        print("no form is refused for:", *unused, sep="\n       ")
    return failures + (len(unused) if not operators else 0)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
