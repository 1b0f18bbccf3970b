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


def wrong(form: Form, found: Outcome) -> str:
    """What is wrong with an outcome; "" for nothing."""
    if found.kind in ("equal", "litert"):
        return ""
    if found.kind == "refused" and reason_of(form, found.why):
        return ""
    return f"{form}: {found.kind}: {found.why}"


def main(operators: list[str]) -> int:
    """Go through them; how many are wrong."""
    forms = [form for form in every() if not operators or form.operator in operators]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failures = 0
    for form, found in outcomes(forms, DEVICES, RUNS):
        counts[found.kind] += 1
        if found.kind == "refused":
            reasons[reason_of(form, found.why) or found.why] += 1
        told = wrong(form, found)
        if told:
            failures += 1
            print(told)
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
