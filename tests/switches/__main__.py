"""python -m tests.switches [SCENE ...]: every instruction of all scenes, or of those that begin so.

--count N tries N of each scene, which --seed chooses. Prints how many were tried and the lines of
those that went wrong; exit code 1 if one did.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.switches.scenes import SCENES
from tests.switches.trying import tried


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.switches")
    parser.add_argument("scenes", nargs="*", default=[""], metavar="SCENE")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    failed = 0
    for name in SCENES:
        if not name.startswith(tuple(chosen.scenes)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcomes = list(tried(name, Path(folder), chosen.count, chosen.seed))
        wrong = [(line, what) for line, what in outcomes if what]
        print(f"{name}: {len(outcomes)} switches, {len(wrong)} went wrong", flush=True)
        for line, what in wrong:
            print(f"    {line}: {what}", flush=True)
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
