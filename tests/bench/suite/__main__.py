"""Measure whole models, print, and write what is asked for.

    python -m tests.bench.suite [--json FILE] [--page] [--from FILE ...]

The environment chooses: MODELS, parts of names with commas between them, THREADS, ROUNDS, PEERS,
DEVICES (of engines, beside the engines themselves);
TIER=v3 holds all runtimes to AVX2, TIER=v2 to SSE4.2 (`tier.py`); CLOCK=cpu measures time of
processors, which is less disturbed where other programs run.
--from measures nothing: it takes what earlier runs have written, a model from the last that has it.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from nnapi_shim.tools.runtimes import RUNTIMES
from tests.bench.suite import c_program, devices, machine, page, picture, tier
from tests.bench.suite.contestants import ROOT, TRAINED, contestants, names
from tests.bench.suite.figures import OURS, Figures, figures, plain, read
from tests.bench.suite.race import race

PAGE = ROOT / "docs" / "performance.md"
PICTURE = "pictures/performance.svg"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="make bench-models")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md")
    parser.add_argument("--from", dest="earlier", nargs="+", type=Path, metavar="FILE", default=[])
    inputs = parser.parse_args()
    content = _earlier(inputs.earlier) if inputs.earlier else _measured(inputs.json)
    models = [read(model) for model in content["models"]]
    print("\n".join([*page.summary(models), *devices.summary(models)]))
    if inputs.page:
        threads = sorted({times.threads for model in models for times in model.times})
        picture.picture(models, threads, PAGE.parent / PICTURE)
        started = content.get("program")
        page.write(PAGE, content["about"], content["rounds"], models, PICTURE, started)


def _earlier(files: list[Path]) -> dict[str, Any]:
    contents = [json.loads(path.read_text()) for path in files]
    models = {model["name"]: model for content in contents for model in content["models"]}
    together = {key: value for content in contents for key, value in content.items()}
    if len(contents) > 1:
        messages = [together["about"].get("clock"), f"put together of {len(contents)} runs"]
        together["about"]["clock"] = "; ".join(filter(None, messages))
    return {**together, "models": list(models.values())}


def numbers(name: str, usual: str) -> list[int]:
    """Those of a setting, with commas; ends the program where some is none from 1 on."""
    parts = (os.environ.get(name) or usual).split(",")
    if all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        return [int(part) for part in parts]
    sys.exit(f"bench-models: {name} is {os.environ[name]!r}; allowed are numbers from 1 on")


def wanted(command: str) -> list[str]:
    """The names of the models that MODELS chooses; ends the program where there are none."""
    expected = [part for part in os.environ.get("MODELS", "").split(",") if part]
    chosen = [n for n in names() if not expected or any(part in n for part in expected)]
    if not chosen:
        sys.exit(f"{command}: no model has {' or '.join(expected)} in its name: {names()}")
    return chosen


def _measured(target: Path | None) -> dict[str, Any]:
    threads, (rounds, *others) = numbers("THREADS", "1,2"), numbers("ROUNDS", "9")
    if others:
        sys.exit(f"bench-models: ROUNDS is {os.environ['ROUNDS']!r}; it is one number")
    if not TRAINED.exists():
        print("the trained models, ../shared/models, are not here: without them", flush=True)
    chosen = wanted("bench-models")
    limit = tier.wanted()
    variables = tier.environment(limit)
    runtimes = tier.held_runtimes([OURS, *devices.wanted(), *peers()], variables)
    about = machine.about(runtimes, limit)
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    began = time.monotonic()
    if os.environ.get("CLOCK") == "cpu":
        about["clock"] = "time of processors"
    content: dict[str, Any] = {"about": about, "rounds": rounds, "models": []}
    if not limit and c_program.MODEL in chosen and (program := c_program.start(rounds)) is not None:
        content["program"] = {**asdict(program), "allowed": program.allowed}
    for at, contestant in enumerate(contestants(chosen, _tell)):
        name = f"[{at + 1}/{len(chosen)}] {contestant.name}"
        result = figures(
            contestant, race(contestant, threads, rounds, runtimes, name, _tell, variables)
        )
        _tell("")
        _show(name, result, threads, runtimes)
        content["models"].append(plain(result))
        if target is not None:  # each time: what is measured stays when this is stopped
            target.write_text(json.dumps(content, indent=1))
    print(f"{len(chosen)} models in {time.monotonic() - began:.0f} s")
    return content


def peers() -> list[str]:
    """Those that are installed, of those that are wanted."""
    result = []
    for name in (os.environ.get("PEERS") or ",".join(RUNTIMES)).split(","):
        if name not in RUNTIMES:
            sys.exit(f"bench-models: PEERS has {name!r}; allowed are {', '.join(RUNTIMES)}")
        try:
            import_module(RUNTIMES[name].module)
            result.append(name)
        except ImportError:
            print(f"{name} is not installed: without it")
    return result


def _tell(text: str) -> None:
    """What is done now, in place of what was, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _show(name: str, result: Figures, threads: list[int], runtimes: list[str]) -> None:
    for number in threads:
        parts = []
        for runtime in runtimes:
            times = result.of(runtime, number)
            parts.append(f"{runtime} {1e3 * times.minimum:.4g}" if times else f"{runtime} -")
        ratio = result.ratio(number)
        messages = (
            f"; ratio {ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f}), of the least "
            f"{ratio.of_minima:.2f}"
            if ratio
            else ""
        )
        print(f"{name}, threads: {number}: least ms {', '.join(parts)}{messages}", flush=True)


if __name__ == "__main__":
    main()
