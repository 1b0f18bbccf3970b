"""Comparison of two devices: the outputs of every operation."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import chosen
from nnapi_shim.api.model import Model
from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.runtime.slicing import Slice, with_parameters
from nnapi_shim.tools.array_difference import Difference, Tolerance, difference
from nnapi_shim.tools.inputs import Picture, read_or_made_up
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.operand_info import OperandInfo, operand_info
from nnapi_shim.tools.report import Progress, Report, untold
from nnapi_shim.tools.single_operations import can_be_run, run_single, single_operations


@dataclass(frozen=True)
class OperandDiff:
    """An output of an operation on both devices. difference: None if there is a `problem`."""

    number: int
    """The operation's number."""
    operation: str
    role: str
    operand: OperandInfo
    scale: float
    is_model_output: bool
    difference: Difference | None
    problem: str = ""

    @property
    def is_unequal(self) -> bool:
        """Whether a difference was found."""
        difference = self.difference
        return difference is not None and bool(difference.differing or difference.problem)

    @property
    def is_beyond(self) -> bool:
        """Whether the difference exceeds the tolerance."""
        return self.difference is not None and self.difference.is_beyond


@dataclass(frozen=True)
class Diff(Report):
    """A comparison of two devices, operation by operation in execution order.

    a, b: names of the devices. is_isolated: whether each operation got the same inputs on both
    devices, computed by `a`; otherwise each device uses its own values. operands: every numeric
    output of every operation. first: position in `operands` of the first that exceeds the
    tolerance; first_unequal: of the first unequal one; None if there is none.
    left_out: descriptions of values that could not be compared.
    """

    model: str
    a: str
    b: str
    is_isolated: bool
    made_up: bool
    tolerance: Tolerance
    operands: tuple[OperandDiff, ...]
    first: int | None
    first_unequal: int | None
    left_out: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether all differences are within the tolerance."""
        return self.first is None


def diff(
    source: Source,
    a: str,
    b: str,
    inputs: Sequence[str | os.PathLike[str]] = (),
    *,
    isolated: bool = False,
    tolerance: Tolerance | None = None,
    picture: Picture | None = None,
    seed: int = 0,
    progress: Progress = untold,
) -> Diff:
    """Run a model on two devices, with all intermediate values as outputs, and compare them.

    a, b: names of devices; PROFILE:DEVICE is a device of a phone profile (phone_devices.py).
    inputs: files, as in read_inputs; without files, random numbers from `seed`.
    isolated: give each operation the same inputs on both devices, to locate the operation that
    causes an error. Devices may fuse fewer operations than usual, because all values are outputs.

    Raises NnapiError, also for a device that does not run the whole model.
    """
    if a == b:
        raise bad_data(
            f"{a} is to be compared with itself; two devices are needed", "tool.diff.same-device"
        )
    model = model_of(source)
    if ":" in a + b:
        from nnapi_shim.tools.phone_devices import list_devices_of_phones

        list_devices_of_phones((a, b))
    chosen([a, b])
    on_a = Compilation(model, a)
    arrays = read_or_made_up(on_a, inputs, picture, seed)
    count = 0 if not isolated else len(model.operations)
    progress(0, count + 2, f"all of it on {a}")
    values_a = on_a.intermediates(*arrays)
    computed_a: Mapping[int, Array] = {operand.index: values_a[operand] for operand in values_a}
    tolerated = tolerance or Tolerance()
    if isolated:
        comparison = _isolated(model, a, b, computed_a, tolerated, progress)
        left_out = values_a.left_out
    else:
        progress(1, 2, f"all of it on {b}")
        values_b = Compilation(model, b).intermediates(*arrays)
        computed_b = {operand.index: values_b[operand] for operand in values_b}
        comparison = _along(model, computed_a, computed_b, tolerated)
        left_out = values_b.left_out
    return Diff(
        name_of(source),
        a,
        b,
        isolated,
        not inputs,
        tolerated,
        tuple(comparison),
        _first(item.is_beyond for item in comparison),
        _first(item.is_unequal for item in comparison),
        left_out,
    )


def _first(flags: Iterable[bool]) -> int | None:
    """The position of the first that holds."""
    return next((at for at, holds in enumerate(flags) if holds), None)


def _along(
    model: Model,
    computed_a: Mapping[int, Array],
    computed_b: Mapping[int, Array],
    tolerance: Tolerance,
) -> list[OperandDiff]:
    """Each device with its own values."""
    both = (computed_a, computed_b)
    scales = _scales(model)
    return [
        _compared(view, role, operand, scales, [side[operand.index] for side in both], tolerance)
        for view in model.operations
        for role, operand in zip(view.output_roles, view.outputs, strict=True)
        if all(operand.index in side for side in both)
    ]


def _isolated(
    model: Model,
    a: str,
    b: str,
    computed: Mapping[int, Array],
    tolerance: Tolerance,
    progress: Progress,
) -> list[OperandDiff]:
    """Each operation on both devices with the same inputs.

    computed: the values of the whole model, which supply the inputs.
    """
    drivers, scales, views = chosen([a, b]), _scales(model), model.operations
    result = []
    for position, part in enumerate(single_operations(model.finished)):
        view = views[position]
        progress(position + 2, len(views) + 2, view.name)
        if not can_be_run(part):
            continue
        both, problem = _on_both(part, drivers, computed)
        for role, operand in zip(view.output_roles, view.outputs, strict=True):
            if operand.index in part.outputs:
                values = [] if problem else [side[operand.index] for side in both]
                result.append(_compared(view, role, operand, scales, values, tolerance, problem))
    return result


def _on_both(
    part: Slice, drivers: Sequence[IDevice], computed: Mapping[int, Array]
) -> tuple[list[Mapping[int, Array]], str]:
    """The outputs of a single operation on each device, and the error of a device or ""."""
    outputs: list[Mapping[int, Array]] = []
    for driver in drivers:
        try:
            outputs.append(run_single(part, driver, computed))
        except NnapiError as error:
            return outputs, f"{driver.name}: {error.message}"
        except KeyError as error:
            return outputs, f"operand {error.args[0]} has no value that arrays can hold"
    return outputs, ""


def _scales(model: Model) -> list[float]:
    """The scales of all operands; operations determine those of temporaries."""
    return [operand.scale for operand in with_parameters(model.finished.main)]


def _compared(
    view: OperationView,
    role: str,
    operand: OperandView,
    scales: Sequence[float],
    values: Sequence[Array],
    tolerance: Tolerance,
    problem: str = "",
) -> OperandDiff:
    """The difference of the two values of an output; none if there is a problem."""
    scale = scales[operand.index]
    of_operand = operand.type, scale, tolerance, operand.zero_point
    return OperandDiff(
        view.number,
        view.name,
        role,
        operand_info(operand),
        scale,
        operand.lifetime is OperandLifeTime.SUBGRAPH_OUTPUT,
        None if problem else difference(values[0], values[1], *of_operand),
        problem,
    )
