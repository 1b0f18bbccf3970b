"""`make bench`: start-up, calls, kernels and the kernel build, each as a ratio to a peer.

Every ratio is taken in one run, its two sides one after the other in turns. Bars are printed
beside the figures; a figure that misses its bar is marked, and nothing fails: timings are no tests.

    python tests/bench/bench.py [start calls building caching python kernels build]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
LIBRARIES = ROOT / "build" / "lib"
HERE = Path(__file__).parent
ROUNDS = 25


def line(name: str, value: str, ratio: float, bar: float, unit: str) -> None:
    """One figure with its ratio, its bar and whether it holds."""
    verdict = "ok" if ratio <= bar else "ABOVE THE BAR"
    print(f"  {name:<46} {value:>14}  {ratio:>9.2f} {unit} (at most {bar:g})  {verdict}")


def compiled(name: str, folder: Path) -> Path:
    """A C program of this folder, linked with the library."""
    program = folder / name
    command = ["cc", "-std=gnu99", "-O2", "-Wall", "-Wextra", f"-I{ROOT / 'include'}"]
    command += [str(HERE / f"{name}.c"), "-o", str(program), f"-L{LIBRARIES}", "-lneuralnetworks"]
    command.append("-pthread")
    subprocess.run(command, check=True)
    return program


def usage(command: list[str]) -> tuple[float, float]:
    """CPU time in ms and peak memory in MB of a process with an empty environment."""
    process = subprocess.Popen(
        command,
        env={"LD_LIBRARY_PATH": str(LIBRARIES), "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed with {process.returncode}")
    return 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024


def start(folder: Path) -> None:
    """One process from start to the result of a one-operation model."""
    program = str(compiled("start", folder))
    python = str(Path(sys.executable).resolve())
    ours, empty, peaks = [], [], []
    for _ in range(ROUNDS):
        cpu, peak = usage([program])
        ours.append(cpu)
        peaks.append(peak)
        empty.append(usage([python, "-I", "-S", "-c", "pass"])[0])
    heavy = subprocess.run(
        [program, "print"],
        env={"LD_LIBRARY_PATH": str(LIBRARIES)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    print("start of a process to the result of a one-operation model, nnapi-cpu, env -i")
    line(
        f"CPU time, python3 -I -S -c pass: {median(empty):.1f} ms",
        f"{median(ours):.1f} ms",
        median(ours) / median(empty),
        8,
        "x",
    )
    line("peak memory", f"{max(peaks):.1f} MB", max(peaks), 30, "MB")
    print(f"  heavy packages loaded: {heavy or 'none (neither numpy nor numba)'}")


def printed(program: Path, *arguments: str, **settings: str) -> str:
    """What a program prints, on nnapi-cpu with these settings and an empty environment."""
    return subprocess.run(
        [str(program), *arguments],
        env={
            "LD_LIBRARY_PATH": str(LIBRARIES),
            "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu",
            **settings,
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def costs(program: Path) -> dict[str, float]:
    """The names and times that a program prints."""
    lines = map(str.split, printed(program).splitlines())
    return {name: float(value) for name, value in lines}


def calls(folder: Path) -> None:
    """Costs of calls, in empty calls through the library into Python."""
    cost = costs(compiled("calls", folder))
    unit = cost["empty"]
    print("calls, in units of an empty call into Python (ANeuralNetworksDevice_wait)")
    print(f"  unit: {unit / 1000:.3f} us")
    line(
        "compute, one operation, 4 elements, reusable",
        f"{cost['compute'] / 1000:.2f} us",
        cost["compute"] / unit,
        10,
        "units",
    )
    line(
        "build and compile a chain of 100 ADD",
        f"{cost['chain'] / 1e6:.2f} ms",
        cost["chain"] / unit,
        40000,
        "units",
    )


def building(folder: Path) -> None:
    """Costs of the calls that build, of whole executions, and of long chains."""
    cost = costs(compiled("building", folder))
    unit = cost["empty"]
    print("more calls, medians, in units of an empty call into Python")
    print(f"  unit: {unit / 1000:.3f} us")
    for name, what, bar in (
        ("addOperand", "addOperand", 15),
        ("setOperandValue", "setOperandValue, 16 bytes", 15),
        ("setInput", "setInput", 15),
        ("addOperation", "addOperation, ADD", 75),
        ("cycle", "execution: create, 3 x set, compute, free", 60),
    ):
        line(what, f"{cost[name] / 1000:.2f} us", cost[name] / unit, bar, "units")
    line(
        f"startCompute, wait; bare hand-over: {cost['handOver'] / 1000:.1f} us",
        f"{cost['start'] / 1000:.1f} us",
        cost["start"] / cost["handOver"],
        3,
        "x",
    )
    each = [cost[f"chain{length}"] / length / 1000 for length in (100, 1000, 10000)]
    shown = ", ".join(f"{time:.2f}" for time in each)
    print(f"  build and compile a chain of 100, 1,000, 10,000 ADD: {shown} us per operation")


def caching(folder: Path) -> None:
    """A network of the size of MobileNet, compiled and loaded, each time in a new process."""
    program = compiled("caching", folder)
    kept = folder / "cache"
    kept.mkdir()
    (folder / "state").mkdir()
    state = {"XDG_STATE_HOME": str(folder / "state")}  # the user's own is none of its business
    printed(program, str(kept), **state)
    rounds = []
    for _ in range(ROUNDS):
        each = printed(program, **state), printed(program, str(kept), **state)
        rounds.append([float(number) / 1e6 for times in each for number in times.split()])
    compiling, compiling_all, loading, loading_all = map(median, zip(*rounds, strict=True))
    size = sum(path.stat().st_size for path in kept.iterdir())
    print(f"compilation of a network of the size of MobileNet, file of {size / 1e6:.1f} MB")
    ratio = compiling / loading
    verdict = "ok" if ratio >= 10 else "BELOW THE BAR"
    print(
        f"  finish {compiling:.1f} ms, from the cache {loading:.1f} ms: {ratio:.1f} times faster "
        f"(at least 10)  {verdict}"
    )
    print(
        f"  processors' time in all threads {compiling_all:.1f} ms and {loading_all:.1f} ms: "
        f"{compiling_all / loading_all:.1f} times less; where there is one processor, or all are "
        "busy, it is that much faster"
    )


def kernels(folder: Path) -> None:
    """Kernels against LiteRT with XNNPACK and ONNX Runtime, one thread, tier by tier."""
    del folder
    from nnapi_shim.drivers.cpu import library

    for tier in [t for t in library.processor_tiers() if t != "v2"]:
        subprocess.run(
            [sys.executable, str(HERE / "bench_kernels.py")],
            env={**os.environ, "NNAPI_SHIM_TIER": tier, "PYTHONPATH": str(ROOT)},
            check=True,
        )


def build(folder: Path) -> None:
    """All kernels for all tiers from nothing."""
    from nnapi_shim.drivers.cpu.kernels.build import build as build_kernels

    print(f"building all kernels for all tiers from nothing, {os.cpu_count()} cores")
    began = time.monotonic()
    build_kernels(folder / "kernels" / "lib")
    elapsed = time.monotonic() - began
    line("time", f"{elapsed:.0f} s", elapsed / 60, 8, "min")
    began = time.monotonic()
    build_kernels(folder / "kernels" / "lib")
    print(f"  again, with nothing changed: {time.monotonic() - began:.1f} s")


def python(folder: Path) -> None:
    """What a run costs in Python beside its computation."""
    del folder
    sys.path.insert(0, str(ROOT))
    from tests.bench.bench_python import figures

    found = figures()
    print("a run in Python of a model of one operation on 4 numbers, medians")
    peer = found.get("LiteRT")
    for name, microseconds in found.items():
        beside = "" if peer is None else f"  {microseconds / peer:6.2f} x LiteRT"
        bar = ""
        if name == "Compilation.run(a, b)":
            bar = "  ok" if microseconds < 10 else "  ABOVE THE BAR"
            bar = f"  (below 10 us){bar}"
        print(f"  {name:<46} {microseconds:8.2f} us{beside}{bar}")


PARTS = {
    "start": start,
    "calls": calls,
    "building": building,
    "caching": caching,
    "python": python,
    "kernels": kernels,
    "build": build,
}


def main() -> None:
    """Run the parts that are named, by default all."""
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or PARTS:
            PARTS[name](Path(folder))
            print(flush=True)


if __name__ == "__main__":
    main()
