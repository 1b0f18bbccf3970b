"""Comparison of two devices: the outputs of every operation."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import chosen
from nnapi_shim.api.model import Model
from nnapi_shim.api.view import OperandView
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.runtime.slicing import Slice, with_parameters
from nnapi_shim.tools.array_difference import Difference, Tolerance, difference
from nnapi_shim.tools.inputs import Picture, made_up, read_inputs
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
    chosen([a, b])
    on_a = Compilation(model, a)
    arrays = read_inputs(on_a, inputs, picture) if inputs else made_up(on_a.inputs, seed)
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
    beyond = [at for at, item in enumerate(comparison) if item.is_beyond]
    unequal = [
        at
        for at, item in enumerate(comparison)
        if item.difference is not None and (item.difference.differing or item.difference.problem)
    ]
    return Diff(
        name_of(source),
        a,
        b,
        isolated,
        not inputs,
        tolerated,
        tuple(comparison),
        beyond[0] if beyond else None,
        unequal[0] if unequal else None,
        left_out,
    )


def _along(
    model: Model,
    computed_a: Mapping[int, Array],
    computed_b: Mapping[int, Array],
    tolerance: Tolerance,
) -> list[OperandDiff]:
    """Each device with its own values."""
    scales = _scales(model)
    return [
        _compared(
            number,
            operation,
            role,
            operand,
            scales[operand.index],
            computed_a[operand.index],
            computed_b[operand.index],
            tolerance,
        )
        for number, operation, role, operand in _outputs(model)
        if operand.index in computed_a and operand.index in computed_b
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
    drivers = chosen([a, b])
    scales = _scales(model)
    views = model.operations
    result = []
    for position, part in enumerate(single_operations(model.finished)):
        view = views[position]
        progress(position + 2, len(views) + 2, view.name)
        if not can_be_run(part):
            continue
        outputs, problem = _on_both(part, drivers, computed)
        for role, operand in zip(view.output_roles, view.outputs, strict=True):
            if operand.index not in part.outputs:
                continue
            if problem:
                result.append(
                    OperandDiff(
                        view.number,
                        view.name,
                        role,
                        operand_info(operand),
                        scales[operand.index],
                        _is_model_output(operand),
                        None,
                        problem,
                    )
                )
                continue
            result.append(
                _compared(
                    view.number,
                    view.name,
                    role,
                    operand,
                    scales[operand.index],
                    outputs[0][operand.index],
                    outputs[1][operand.index],
                    tolerance,
                )
            )
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


def _outputs(model: Model) -> list[tuple[int, str, str, OperandView]]:
    """Number and name of an operation, role and operand of each of its outputs."""
    return [
        (view.number, view.name, role, operand)
        for view in model.operations
        for role, operand in zip(view.output_roles, view.outputs, strict=True)
    ]


def _scales(model: Model) -> list[float]:
    """The scales of all operands; operations determine those of temporaries."""
    return [operand.scale for operand in with_parameters(model.finished.main)]


def _is_model_output(operand: OperandView) -> bool:
    return operand.lifetime is OperandLifeTime.SUBGRAPH_OUTPUT


def _compared(
    number: int,
    operation: str,
    role: str,
    operand: OperandView,
    scale: float,
    a: Array,
    b: Array,
    tolerance: Tolerance,
) -> OperandDiff:
    return OperandDiff(
        number,
        operation,
        role,
        operand_info(operand),
        scale,
        _is_model_output(operand),
        difference(a, b, operand.type, scale, tolerance),
    )
