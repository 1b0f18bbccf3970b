"""A form: an operator with types, ranks and options, of which a file can be made."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.formats.tflite.building import Array, Building, Spec

QUANTIZED = {
    "INT8": ((0.05, 3), (0.03, -4), (0.08, -7)),
    "UINT8": ((0.05, 120), (0.03, 131), (0.08, 101)),
    "INT16": ((1 / 8192, 0), (1 / 16384, 0), (1 / 4096, 0)),
}
"""Type -> scales and zero points of a first input, of others, of an output."""
FLOATS = ("FLOAT32",)
BYTES = ("INT8", "UINT8")
WHOLE = ("INT32", "INT64")
REALS = ("FLOAT32", "INT8", "UINT8", "INT16")
ALL = (*REALS, "FLOAT16", *WHOLE, "UINT32", "BOOL")
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (5,),
    (2, 3),
    (2, 3, 4),
    (1, 3, 2, 2),
    (2, 1, 3, 1, 2),
    (1, 2, 1, 2, 1, 3),
)


class Form(NamedTuple):
    """One operator. inputs: an array is a constant, None is left out.

    domains: position of an input -> which values it is given. steps: how far quantized results may
    be apart. tolerance: of floats.
    """

    operator: str
    tag: str
    inputs: tuple[Spec | Array | None, ...]
    outputs: tuple[Spec, ...]
    kind: str
    fields: Mapping[str, Any]
    domains: Mapping[int, str]
    steps: int
    tolerance: float

    def __str__(self) -> str:
        return f"{self.operator}-{self.tag}"

    def file(self, shapes: Sequence[tuple[int, ...]] | None = None) -> bytes:
        """The bytes; shapes: of the outputs, which LiteRT may know better."""
        outputs: Sequence[Spec] = self.outputs
        if shapes is not None:
            outputs = [o._replace(shape=s) for o, s in zip(outputs, shapes, strict=True)]
        made = Building()
        numbers, given = [], []
        for item in self.inputs:
            if item is None:
                numbers.append(-1)
            elif isinstance(item, Spec):
                if item.value is None and not item.is_variable:
                    given.append(_input(made, item, numbers))
                else:
                    numbers.append(made.tensor(item))
            else:
                numbers.append(made.constant(item))
        results = [made.tensor(spec) for spec in outputs]
        made.operator(self.operator, numbers, results, self.kind, **self.fields)
        made.ends(given, results)
        return made.file()

    def given(self, seed: int) -> list[Array]:
        """Values for the inputs that are no constants."""
        generator = np.random.default_rng([seed, *str(self).encode()])
        return [
            values(generator, spec._replace(shape=flat(spec)), self.domains.get(at, "any"), seed)
            for at, spec in enumerate(self.inputs)
            if isinstance(spec, Spec) and spec.value is None and not spec.is_variable
        ]


def _input(made: Building, item: Spec, numbers: list[int]) -> int:
    """Add an input; one of rank above 4 is reshaped in the file, as models of NNAPI need it."""
    if len(item.shape) <= 4:
        numbers.append(made.tensor(item))
        return numbers[-1]
    number = made.tensor(item._replace(shape=flat(item)))
    numbers.append(made.tensor(item))
    shape = made.constant(np.array(item.shape, np.int32))
    made.operator("RESHAPE", [number, shape], numbers[-1:], "ReshapeOptions")
    return number


def flat(item: Spec) -> tuple[int, ...]:
    """The dimensions in which an input is given."""
    return item.shape if len(item.shape) <= 4 else (int(np.prod(item.shape)),)


def form(
    operator: str,
    inputs: Iterable[Spec | Array | None],
    outputs: Spec | Sequence[Spec],
    kind: str = "",
    tag: str = "",
    *,
    domains: Mapping[int, str] | None = None,
    steps: int = 1,
    tolerance: float = 1e-5,
    **fields: Any,
) -> Form:
    """A form, named after the types and shapes of its inputs."""
    given = tuple(inputs)
    made = (
        tuple(outputs)
        if isinstance(outputs, list | tuple) and outputs and isinstance(outputs[0], Spec)
        else (outputs,)
    )
    name = "_".join(_named(item) for item in given)
    tag = "-".join(filter(None, (name, tag)))
    if made[0].type == "FLOAT16":
        tolerance = max(tolerance, 2e-3)
    return Form(operator, tag, given, made, kind, fields, domains or {}, steps, tolerance)  # type: ignore[arg-type]


def _named(item: Spec | Array | None) -> str:
    if item is None:
        return "none"
    if isinstance(item, Spec):
        shape = "x".join(map(str, item.shape))
        return f"{item.type.lower()}[{shape}]" + ("c" if item.value is not None else "")
    return f"{item.dtype.name}[{'x'.join(map(str, item.shape))}]c"


def spec(type: str, shape: Sequence[int] = (), which: int = 0, **more: Any) -> Spec:
    """A tensor; which: of its kind's scales."""
    scale, zero = QUANTIZED[type][which] if type in QUANTIZED else (0.0, 0)
    return Spec(type, tuple(shape), scale, zero, **more)


def out(type: str, which: int = 2) -> Spec:
    """An output, whose shape LiteRT says."""
    return spec(type, (), which)


DTYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "BOOL": np.bool_, "UINT32": np.uint32}
DTYPES |= {f"INT{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)}
DTYPES |= {"UINT8": np.uint8, "FLOAT64": np.float64, "UINT16": np.uint16}


def constant(type: str, value: Any, which: int = 1, **more: Any) -> Spec:
    """A constant of a type: stored elements."""
    array = np.asarray(value).astype(DTYPES[type])
    return spec(type, array.shape, which, value=array, **more)


def i32(*numbers: Any) -> Array:
    """Constants of 32 bits."""
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32)


def number(value: float, type: str = "INT32") -> Array:
    """A constant of rank 0."""
    return np.array(value, DTYPES[type])


def values(generator: np.random.Generator, spec: Spec, domain: str, seed: int) -> Array:
    """Elements of a tensor. domain: any, wide, positive, below:N (indices), small, nonzero, far."""
    dtype, shape = np.dtype(DTYPES[spec.type]), spec.shape
    if domain.startswith("below:"):
        return generator.integers(0, int(domain[6:]), shape).astype(dtype)
    if domain.startswith("is:"):
        return np.array(eval(domain[3:]), dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        if domain == "positive":
            return generator.uniform(0.1, 3, shape).astype(dtype)
        reach = 2 if domain != "wide" or not seed % 2 else 300
        result = generator.uniform(-reach, reach, shape).astype(dtype)
        if domain == "nonzero":
            result = np.where(abs(result) < 0.1, dtype.type(0.5), result)
        if domain == "halves" or (domain == "wide" and seed % 3 == 2):
            result = (np.round(result * 2) / 2).astype(dtype)
        return np.asarray(result, dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not spec.scale:
        low, high = max(low, -9), min(high, 9)
    if domain == "distinct":
        size = int(np.prod(shape))
        return generator.permutation(size).reshape(shape).astype(dtype)
    zero = int(spec.zero_point)
    if domain == "positive":
        low = zero + 1
    result = generator.integers(low, high + 1, shape, np.int64)
    if domain == "nonzero":
        result = np.where(abs(result - zero) < 4, zero + 4, result)
    return np.asarray(result, dtype)
