"""What becomes of a form: equal to LiteRT, refused, refused by LiteRT, or different."""

import faulthandler
import multiprocessing
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np

from nnapi_shim import Compilation, NnapiError
from tests.formats.tflite.building import Array
from tests.formats.tflite.forms.form import Form
from tests.formats.tflite.running import Litert, model_of, results

RUNS = 2
"""Runs of each form, each with values of its own."""


class Outcome(NamedTuple):
    """kind: equal, refused, litert (LiteRT refuses it), different, failed. why: in words."""

    kind: str
    why: str = ""


def outcomes(
    forms: Iterable[Form], devices: tuple[str, ...], runs: int = RUNS
) -> Iterator[tuple[Form, Outcome]]:
    """What becomes of each, in a process of its own, since LiteRT ends some with a signal."""
    waiting = list(forms)
    context = multiprocessing.get_context("fork")
    while waiting:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(waiting, devices, runs, theirs))
        worker.start()
        theirs.close()
        done = 0
        stage = "failed"
        try:
            while done < len(waiting):
                actual = ours.recv()
                if isinstance(actual, str):
                    stage = actual
                    continue
                yield waiting[done], actual
                done += 1
        except EOFError:
            worker.join()
            yield waiting[done], Outcome(stage, f"the process ended with {worker.exitcode}")
            done += 1
        worker.join()
        waiting = waiting[done:]


def _work(forms: list[Form], devices: tuple[str, ...], runs: int, answers: Connection) -> None:
    faulthandler.disable()
    for item in forms:
        answers.send("litert")  # what it is if nothing more is heard
        answers.send(outcome(item, devices, runs, answers))


def outcome(
    form: Form, devices: tuple[str, ...], runs: int = RUNS, answers: Connection | None = None
) -> Outcome:
    """What becomes of it."""
    try:
        theirs = Litert(form.file())
        shapes = [o.shape for o in theirs.run(*form.given(0))]
        data = form.file(shapes)
        theirs = Litert(data)
        theirs.run(*form.given(0))
        if answers is not None:
            answers.send("failed")
    except (RuntimeError, ValueError) as error:
        return Outcome("litert", " ".join(str(error).split()))
    try:
        model = model_of(data)
    except NnapiError as error:
        return Outcome("refused", error.message)
    try:
        return _compared(form, theirs, [Compilation(model, device) for device in devices], runs)
    except Exception as error:  # anything but a result is a finding
        return Outcome("failed", f"{type(error).__name__}: {error}")


def _compared(form: Form, theirs: Litert, compilations: list[Compilation], runs: int) -> Outcome:
    for seed in range(runs):
        inputs = form.given(seed)
        expected = theirs.run(*inputs)
        ours = [np.atleast_1d(value) for value in inputs]
        for compilation in compilations:
            actual = results(compilation.run(*ours))
            if len(actual) != len(expected):
                return Outcome("different", f"{len(actual)} outputs in place of {len(expected)}")
            for one, other in zip(actual, expected, strict=True):
                why = _different(form, one, other)
                if why:
                    return Outcome("different", f"run {seed}: {why}")
    return Outcome("equal")


def _different(form: Form, ours: Array, theirs: Array) -> str:
    if ours.shape != (theirs.shape or (1,)):
        return f"shape {ours.shape} in place of {theirs.shape}"
    ours = ours.reshape(theirs.shape)
    if theirs.dtype.kind == "f":
        close = np.isclose(
            ours.astype(np.float64),
            theirs.astype(np.float64),
            form.tolerance,
            form.tolerance,
            equal_nan=True,
        )
        if close.all():
            return ""
        return (
            f"{ours[~close][0]} in place of {theirs[~close][0]}, {(~close).sum()} of {close.size}"
        )
    steps = form.steps if any(o.scale for o in form.outputs) else 0
    apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    if apart.max(initial=0) <= steps:
        return ""
    at = np.unravel_index(apart.argmax(), apart.shape)
    return f"{ours[at]} in place of {theirs[at]}, {(apart > steps).sum()} of {apart.size}"
