"""docs/performance.md: what stands between its markers is written from the figures of a run."""

from collections.abc import Sequence
from pathlib import Path

from tests.bench.suite.figures import OURS, Figures, Times, geometric_mean
from tests.bench.suite.goals import goals

BEGIN, END = "<!-- figures begin -->\n", "<!-- figures end -->\n"
TITLES = {"litert": "LiteRT", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def write(
    path: Path,
    about: dict[str, str],
    rounds: int,
    models: Sequence[Figures],
    picture: str,
    program: dict[str, float] | None = None,
) -> None:
    """Replace the part between the markers; the page says the rest."""
    text = path.read_text()
    front, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    path.write_text(f"{front}{BEGIN}{part(about, rounds, models, picture, program)}{END}{behind}")


def part(
    about: dict[str, str],
    rounds: int,
    models: Sequence[Figures],
    picture: str,
    program: dict[str, float] | None = None,
) -> str:
    """All that is measured, as Markdown."""
    threads = sorted({times.threads for model in models for times in model.times})
    versions = ", ".join(f"{TITLES.get(key, key)} {about[key]}" for key in about if key in TITLES)
    where = f"{about['date']}, tier {about['tier']}, {about['processor']}"
    lines = [
        "; ".join((where, versions, *filter(None, [about.get("clock")]), f"{rounds} rounds.")),
        "",
        f"![Time of each model relative to the fastest peer]({picture})",
        "",
        *summary(models),
        *goals(models, threads, program),
    ]
    for number in threads:
        lines += _times(models, number)
    lines += _starts(models)
    lines += _nearness(models)
    lines += _failures(models)
    return "\n".join(lines) + "\n"


def summary(models: Sequence[Figures]) -> list[str]:
    """Means, and where nnapi_shim is the fastest, as a table."""
    threads = sorted({times.threads for model in models for times in model.times})
    lines = _table("| | models | geometric mean of ratios | nnapi_shim is the fastest on |")
    groups = {
        "all": list(models),
        "float32": [model for model in models if model.kind == "float32"],
        "int8": [model for model in models if model.kind == "int8"],
        "trained": [model for model in models if model.is_trained],
        "random weights": [model for model in models if not model.is_trained],
    }
    for number in threads:
        for name, group in groups.items():
            ratios = [actual.median for model in group if (actual := model.ratio(number))]
            if ratios:
                fastest = sum(ratio <= 1 for ratio in ratios)
                lines.append(
                    f"| {name}, {_threads(number)} | {len(ratios)} | {geometric_mean(ratios):.2f} "
                    f"| {fastest} |"
                )
    return [*lines, ""]


def _times(models: Sequence[Figures], threads: int) -> list[str]:
    lines = [f"### {_threads(threads).capitalize()}", "", "Milliseconds: median (minimum).", ""]
    names = " | ".join(TITLES.values())
    lines += _table(f"| model | nnapi_shim | {names} | ratio to the fastest | quartiles |")
    for model in models:
        ratio = model.ratio(threads)
        cells = [_time(model.of(runtime, threads)) for runtime in (OURS, *TITLES)]
        messages = ("\u2013", "") if ratio is None else (
            f"{'**' if ratio.median <= 1 else ''}{ratio.median:.2f}"
            f"{'**' if ratio.median <= 1 else ''}",
            f"{ratio.low:.2f} to {ratio.high:.2f}",
        )  # fmt: skip
        lines.append(f"| {model.name} | {' | '.join((*cells, *messages))} |")
    return [*lines, ""]


def _starts(models: Sequence[Figures]) -> list[str]:
    """Of processes with one thread."""
    lines = [
        "### Start of a process to the first result",
        "",
        "One thread: elapsed time in ms, processor time in ms, peak memory.",
        "",
        *_table(f"| model | nnapi_shim | {' | '.join(TITLES.values())} |"),
    ]
    for model in models:
        cells = []
        for runtime in (OURS, *TITLES):
            times = model.of(runtime, 1)
            cells.append(
                "\u2013"
                if times is None
                else f"{1e3 * times.cold_wall:.0f}, {1e3 * times.cold_cpu:.0f}, "
                f"{times.peak / 1e6:.0f} MB"
            )
        lines.append(f"| {model.name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _nearness(models: Sequence[Figures]) -> list[str]:
    lines = [
        "### Outputs compared with those of nnapi_shim",
        "",
        "A pair such as 1/1 counts the vectors of class scores whose largest score has the same "
        "class. The number after it is",
        "the largest difference; for quantized outputs, in steps.",
        "",
        *_table(f"| model | 2 threads | {' | '.join(TITLES.values())} |"),
    ]
    for model in models:
        cells = []
        for runtime, threads in ((OURS, 2), *((name, 1) for name in TITLES)):
            actual = [n for n in model.nearness if (n.runtime, n.threads) == (runtime, threads)]
            near = actual[0] if actual else None
            if near is None:
                cells.append("\u2013")
            elif near.largest is None:
                cells.append("other outputs")
            else:
                cells.append(f"{near.classes} {near.largest:.2g}".strip())
        lines.append(f"| {model.name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _failures(models: Sequence[Figures]) -> list[str]:
    lines = [
        f"- {TITLES.get(runtime, runtime)} does not run {model.name}: {why.replace('|', '/')}"
        for model in models
        for runtime, why in model.failed.items()
    ]
    return ["### What does not run", "", *lines, ""] if lines else []


def _table(head: str) -> list[str]:
    return [head, "|---" * (head.count("|") - 1) + "|"]


def _time(times: Times | None) -> str:
    return "\u2013" if times is None else f"{1e3 * times.median:.3g} ({1e3 * times.minimum:.3g})"


def _threads(number: int) -> str:
    return "one thread" if number == 1 else f"{number} threads"
