"""Operators that go element by element."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.formats.tflite.forms.form import (
    ALL,
    BYTES,
    REALS,
    SHAPES,
    Form,
    constant,
    form,
    number,
    out,
    spec,
)

UNARY = (
    ("ABS", "AbsOptions", "wide"),
    ("CEIL", "", "wide"),
    ("COS", "CosOptions", "any"),
    ("ELU", "", "any"),
    ("EXP", "ExpOptions", "any"),
    ("FLOOR", "", "wide"),
    ("HARD_SWISH", "HardSwishOptions", "wide"),
    ("LOG", "", "positive"),
    ("LOGICAL_NOT", "LogicalNotOptions", "any"),
    ("LOGISTIC", "", "wide"),
    ("NEG", "NegOptions", "wide"),
    ("RELU", "", "wide"),
    ("RELU6", "", "wide"),
    ("RELU_0_TO_1", "", "wide"),
    ("RELU_N1_TO_1", "", "wide"),
    ("ROUND", "", "wide"),
    ("RSQRT", "", "positive"),
    ("SIGN", "SignOptions", "wide"),
    ("SIN", "", "any"),
    ("SQRT", "", "positive"),
    ("SQUARE", "SquareOptions", "wide"),
    ("TANH", "", "wide"),
    ("ZEROS_LIKE", "ZerosLikeOptions", "any"),
)
FIXED = {
    ("LOGISTIC", "INT8"): (1 / 256, -128),
    ("LOGISTIC", "UINT8"): (1 / 256, 0),
    ("LOGISTIC", "INT16"): (1 / 32768, 0),
    ("TANH", "INT8"): (1 / 128, 0),
    ("TANH", "UINT8"): (1 / 128, 128),
    ("TANH", "INT16"): (1 / 32768, 0),
}
"""Scales that LiteRT asks for."""
TABLES = ("LOGISTIC", "TANH")
"""Of 16 bits LiteRT has tables for them, and goes straight between entries."""

PAIRS = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1, 4), (1, 3, 1)),
    ((2, 3), ()),
    ((), ()),
    ((1, 2, 3, 2), (1, 1, 1, 2)),
    ((2, 1, 2, 1, 3), (3,)),
    ((2, 1, 2, 2, 3), (2, 1, 2, 2, 3)),
    ((1, 2, 1, 2, 1, 3), (1, 2, 1, 2, 1, 3)),
)


def unary() -> Iterator[Form]:
    """One input."""
    for name, kind, domain in UNARY:
        for type in ALL:
            fixed = FIXED.get((name, type))
            for shape in SHAPES:
                result = out(type)
                if fixed:
                    result = result._replace(scale=fixed[0], zero_point=fixed[1])
                arguments = spec(type, shape)
                steps = 2 if type == "INT16" and name in TABLES else 1
                yield form(name, [arguments], result, kind, domains={0: domain}, steps=steps)
            if type in BYTES:  # the same parameters on both sides
                yield form(
                    name, [spec(type, (2, 3))], out(type, 0), kind, "same", domains={0: domain}
                )


def more_unary() -> Iterator[Form]:
    """With options."""
    for type in REALS:
        for shape in SHAPES[1:]:
            for approximate in (True, False):
                yield form(
                    "GELU",
                    [spec(type, shape)],
                    out(type),
                    "GeluOptions",
                    f"a{approximate:d}",
                    approximate=approximate,
                    domains={0: "wide"},
                )
            for alpha in (0.3, 0.0, -0.2, 1.5):
                yield form(
                    "LEAKY_RELU",
                    [spec(type, shape)],
                    out(type),
                    "LeakyReluOptions",
                    f"{alpha}",
                    alpha=alpha,
                )
        for channels in ((4,), (1, 1, 4), (3, 2, 4), (1,)):
            alpha = constant(type, np.arange(np.prod(channels)).reshape(channels) % 7 - 2)
            yield form("PRELU", [spec(type, (2, 3, 2, 4)), alpha], out(type))
            yield form("PRELU", [spec(type, (2, 3, 2, 4)), spec(type, channels, 1)], out(type))


BINARY = (
    ("ADD", "AddOptions", "any", True),
    ("SUB", "SubOptions", "any", True),
    ("MUL", "MulOptions", "any", True),
    ("DIV", "DivOptions", "nonzero", True),
    ("MAXIMUM", "MaximumMinimumOptions", "any", False),
    ("MINIMUM", "MaximumMinimumOptions", "any", False),
    ("FLOOR_DIV", "FloorDivOptions", "nonzero", False),
    ("FLOOR_MOD", "FloorModOptions", "nonzero", False),
    ("POW", "PowOptions", "any", False),
    ("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", "any", False),
    ("ATAN2", "ATan2Options", "any", False),
    ("BITWISE_XOR", "BitwiseXorOptions", "any", False),
    ("RIGHT_SHIFT", "RightShiftOptions", "below:4", False),
)
TRUTH = (
    ("EQUAL", "EqualOptions"),
    ("NOT_EQUAL", "NotEqualOptions"),
    ("LESS", "LessOptions"),
    ("LESS_EQUAL", "LessEqualOptions"),
    ("GREATER", "GreaterOptions"),
    ("GREATER_EQUAL", "GreaterEqualOptions"),
)


def binary() -> Iterator[Form]:
    """Two inputs that are broadcast."""
    for name, kind, second, fuses in BINARY:
        for type in (*ALL, "UINT16"):
            domains = {0: "positive" if name == "POW" and type == "FLOAT32" else "any", 1: second}
            if name == "DIV":  # of 0 as bytes, LiteRT gives the smallest number
                domains[0] = "nonzero"
            if name == "POW" and type == "INT32":
                domains[1] = "below:3"
            fused: Any = range(6) if fuses else (None,)
            alike = name in ("MAXIMUM", "MINIMUM")
            for at, (one, other) in enumerate(PAIRS):
                for code in fused:
                    if code and at > 1:
                        continue
                    fields = {} if code is None else {"fusedActivationFunction": code}
                    yield form(
                        name,
                        [spec(type, one), spec(type, other, 0 if alike else 1)],
                        out(type, 0 if alike else 2),
                        kind,
                        f"f{code}" if code else "",
                        domains=domains,
                        **fields,
                    )
            fields = {"fusedActivationFunction": 0} if fuses else {}
            for shape in ((3,), ()):
                yield form(
                    name,
                    [spec(type, (2, 3)), constant(type, np.full(shape, 2), 0 if alike else 1)],
                    out(type, 0 if alike else 2),
                    kind,
                    domains=domains,
                    **fields,
                )
                yield form(
                    name,
                    [constant(type, np.full(shape, 3), 0 if alike else 1), spec(type, (2, 3))],
                    out(type, 0 if alike else 2),
                    kind,
                    domains=domains,
                    **fields,
                )
            if alike:
                yield form(
                    name, [spec(type, (2, 3)), spec(type, (2, 3), 1)], out(type), kind, "scales"
                )
    for type in ("FLOAT32", "INT32"):
        yield form("ADD_N", [spec(type, (2, 3))] * 1, out(type), "AddNOptions")
        yield form("ADD_N", [spec(type, (2, 3))] * 4, out(type), "AddNOptions")
    for name, kind in TRUTH:
        for type in ALL:
            for one, other in PAIRS:
                # One scale is twice the other: LiteRT rounds what is nearly equal.
                twice = spec(type, other)._replace(scale=2 * spec(type).scale)  # type: ignore[operator]
                yield form(name, [spec(type, one), twice], out("BOOL"), kind)
            yield form(name, [spec(type, (2, 3)), constant(type, 1, 0)], out("BOOL"), kind)
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        for one, other in PAIRS:
            yield form(name, [spec("BOOL", one), spec("BOOL", other)], out("BOOL"))


def choice() -> Iterator[Form]:
    """SELECT, SELECT_V2."""
    shapes = (
        ((2, 3), (2, 3), (2, 3)),
        ((2,), (2, 3), (2, 3)),
        ((), (2, 3), (2, 3)),
        ((1,), (2, 3), (2, 3)),
        ((2, 1), (1, 3), (2, 3)),
        ((3,), (2, 3), ()),
        ((2, 1, 2, 1, 2),) * 3,
    )
    for name, kind in (("SELECT", "SelectOptions"), ("SELECT_V2", "SelectV2Options")):
        for type in ALL:
            for c, a, b in shapes:
                yield form(
                    name, [spec("BOOL", c), spec(type, a), spec(type, b)], out(type, 0), kind
                )


CODES = {"FLOAT32": 0, "FLOAT16": 1, "INT32": 2, "UINT8": 3, "INT64": 4, "BOOL": 6, "INT16": 7}
CODES |= {"INT8": 9, "FLOAT64": 10, "UINT32": 15, "UINT16": 16}


def conversion() -> Iterator[Form]:
    """CAST between all types, QUANTIZE, DEQUANTIZE, FAKE_QUANT."""
    for one, a in CODES.items():
        for other, b in CODES.items():
            plain = {"scale": 0.0, "zero_point": 0}
            arguments = spec(one, (2, 3))._replace(**plain)
            yield form(
                "CAST",
                [arguments],
                out(other)._replace(**plain),
                "CastOptions",
                other.lower(),
                inDataType=a,
                outDataType=b,
                domains={0: "positive"},
            )
    for one in REALS:
        for other in REALS:
            for shape in SHAPES:
                yield form(
                    "QUANTIZE", [spec(one, shape)], out(other), "QuantizeOptions", other.lower()
                )
            yield form(
                "QUANTIZE",
                [spec(one, (2, 3))],
                out(other, 0),
                "QuantizeOptions",
                f"{other.lower()}-0",
            )
    for one in (*ALL, "INT4"):
        for shape in SHAPES:
            if one != "INT4":
                yield form("DEQUANTIZE", [spec(one, shape)], out("FLOAT32"), "DequantizeOptions")
    yield form(
        "FAKE_QUANT",
        [spec("FLOAT32", (2, 3))],
        out("FLOAT32"),
        "FakeQuantOptions",
        min=-1.0,
        max=1.0,
        numBits=8,
        narrowRange=False,
    )
    yield form(
        "DIV", [number(6), spec("INT32", (2,))], out("INT32"), "DivOptions", domains={1: "nonzero"}
    )


def forms() -> Iterator[Form]:
    """All of them."""
    yield from unary()
    yield from more_unary()
    yield from binary()
    yield from choice()
    yield from conversion()
