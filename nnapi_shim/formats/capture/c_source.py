"""Writes a capture as a C program that needs the NNAPI headers and the C library."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nnapi_shim.formats.capture.data import NO_FOLDER, Data
from nnapi_shim.formats.capture.plan import Planned, Value
from nnapi_shim.formats.source.c_literals import string_literal
from nnapi_shim.recording.vocabulary import C_TYPES, RANGES, Parameter

_PER_LINE = 20


class C:
    """Writes each call as a C99 function."""

    def __init__(self) -> None:
        self._handles: dict[str, str] = {}
        """Handle -> C type."""
        self._buffers: list[str] = []
        self._memories: list[str] = []
        self._calls: list[int] = []
        self._operations = 1
        self._headers = {"android/NeuralNetworks.h"}

    def call(self, plan: Planned, data: Data) -> Iterator[str]:
        """The C function of a call."""
        call = plan.call
        if plan.why_not:
            yield f"/* call {call.number}, {call.function}, is left out: {plan.why_not} */"
            return
        if call.function.startswith("nnapi_shim"):
            self._headers.add("nnapi_shim.h")
        elif "xtension" in call.function:
            self._headers.add("android/NeuralNetworksExtensions.h")
        if call.short == "Model_addOperation":
            self._operations += 1
        self._calls.append(call.number)
        yield f"static void call_{call.number}(void)"
        yield "{"
        before: list[str] = []
        after: list[str] = []
        if call.short == "_getDevice" and plan.values[1].value:
            handle = self._handle(plan.values[1].value, "device")
            number = plan.values[0].value
            yield f"    {handle} = device({number});"
            yield "}"
            return
        for fill in plan.fills:
            at, length = data.locate(fill.contents)
            target = self._bytes(fill.target)
            before.append(f"memcpy({target} + {fill.offset}, data + {at}, {length});")
        words: list[str] = []
        for parameter, value in zip(plan.parameters, plan.values, strict=True):
            words.append(self._argument(plan, parameter, value, data, words, before, after))
        function = call.function
        if call.short == "Memory_createFromAHardwareBuffer":
            function = "ANeuralNetworksMemory_createFromFd"
            size = plan.values[0].value
            words = [str(size), "PROT_READ | PROT_WRITE", words[0], "0", words[1]]
        called = f"{function}({', '.join(words)})"
        if call.result is None:
            before.append(f"{called};\n    made_calls++;")
        else:
            before.append(f'expect({call.number}, "{call.function}", {called}, {call.result});')
        for check in plan.checks:
            at, length = data.locate(check.contents)
            kind = check.contents["dtype"][-2:] if check.absolute else "bytes"
            tolerance = f", {_real(check.absolute)}, {_real(check.relative)}"
            after.append(
                f"compare_{kind}({call.number}, {check.output}, {self._bytes(check.target)} + "
                f"{check.offset}, data + {at}, {length}{tolerance if check.absolute else ''});"
            )
        yield from (f"    {line}" for line in (*before, *after))
        yield "}"

    def _handle(self, handle: str | None, kind: str) -> str:
        if handle is None:
            return "NULL"
        if handle.startswith("0x"):
            return f"({C_TYPES[kind]} *)(uintptr_t){int(handle, 16):#x}"
        own = handle.rpartition(" ")[0]
        self._handles.setdefault(handle, C_TYPES[own])
        return _name(handle) if own == kind else f"({C_TYPES[kind]} *)(void *){_name(handle)}"

    def _bytes(self, target: str) -> str:
        """The C expression of the target of contents: a buffer, or the mapped bytes of a memory."""
        return f"{_name(target)}_bytes" if target in self._memories else _name(target)

    def _argument(
        self,
        plan: Planned,
        parameter: Parameter,
        value: Value,
        data: Data,
        front: list[str],
        before: list[str],
        after: list[str],
    ) -> str:
        """An argument as an expression, with the statements before and after the call.

        front: the expressions of the preceding arguments.
        """
        call, name = plan.call, f"the_{parameter.name}"
        expected = call.results.get(parameter.name)
        if value.kind == "null":
            return "NULL"
        if value.kind == "int":
            return _number(value.value, value.of)
        if value.kind == "float":
            return _real(value.value)
        if value.kind == "handle":
            return self._handle(value.value, value.of)
        if value.kind == "made":
            if value.value is None:
                before.append(f"{C_TYPES[value.of]} *{name} = NULL;")
                return f"&{name}"
            return f"&{self._handle(value.value, value.of)}"
        if value.kind == "handles":
            kind = "device" if parameter.name == "devices" else "event"
            pointer = f"const {C_TYPES[kind]} *"
            items = [self._handle(item, kind) for item in value.value] or ["NULL"]
            return _array(f"{pointer}const {name}[]", name, items, before)
        if value.kind == "string":
            return (
                f'"{NO_FOLDER}"'
                if call.short == "Compilation_setCaching"
                else string_literal(value.value)
            )
        if value.kind == "token":
            return _array(f"static const uint8_t {name}[32]", name, map(str, value.value), before)
        if value.kind == "numbers":
            numbers = [str(number) for number in value.value] or ["0"]
            return _array(f"static const uint32_t {name}[]", name, numbers, before)
        if value.kind == "data":
            return f"data + {data.locate(value.value)[0]}"
        if value.kind == "type":
            return self._type(name, value, before)
        if value.kind == "scales":
            dim, scales = value.value
            return _channel_quantization(name, dim, scales, before)
        if value.kind == "buffer":
            self._buffers.append(value.value)
            before.append(f"{_name(value.value)} = memory({value.of});")
            return _name(value.value)
        if value.kind == "memory file":
            handle = plan.made
            self._memories.append(handle)
            size, offset = _number(value.value, "size_t"), _number(value.of, "size_t")
            before.append(f"const int fd = shared({size}, {offset}, &{_name(handle)}_bytes);")
            after.append("close(fd);")
            return "fd"
        if value.kind == "fence":
            return "fence()" if value.value else "-1"
        return self._variable(name, parameter, value, plan, expected, front, before, after)

    def _variable(
        self,
        name: str,
        parameter: Parameter,
        value: Value,
        plan: Planned,
        expected: Any,
        front: list[str],
        before: list[str],
        after: list[str],
    ) -> str:
        is_compared = parameter.name in plan.compared
        number = plan.call.number
        if value.kind == "text":
            before.append(f"const char *{name} = NULL;")
            return f"&{name}"
        if value.kind == "out":
            before.append(f"{value.of} {name} = 0;")
            if is_compared:
                after.append(f'equal({number}, "{parameter.name}", {name}, {int(expected)});')
            return f"&{name}"
        assert value.kind == "outs"
        if parameter.name == "dimensions":
            arguments = ", ".join(front)
            before.append(f"{value.of} *{name} = sizes({arguments}, {len(expected or ())});")
        else:
            before.append(f"static {value.of} {name}[{self._operations}];")
        if is_compared:
            for at, item in enumerate(expected):
                after.append(f'equal({number}, "{parameter.name}", {name}[{at}], {int(item)});')
        if parameter.name == "dimensions":
            after.append(f"free({name});")
        return name

    def _type(self, name: str, value: Value, before: list[str]) -> str:
        code, sizes, count, scale, zero_point = value.value
        sizes_name = "NULL"
        if sizes:
            numbers = ", ".join(f"{size}u" for size in sizes)
            before.append(f"static const uint32_t {name}_sizes[] = {{{numbers}}};")
            sizes_name = f"{name}_sizes"
        before.append(
            f"const ANeuralNetworksOperandType {name} = "
            f"{{{code}, {count}u, {sizes_name}, {_real(scale)}, {zero_point}}};"
        )
        return f"&{name}"

    # The whole program

    def program(self, title: str, calls: list[str], data: bytes, file: str) -> str:
        """The source of the program."""
        from nnapi_shim.formats.capture.c_prelude import PRELUDE

        if file:
            stored = f"#define DATA_FILE {string_literal(file)}\nstatic unsigned char *data;"
        else:
            rows = data or b"\0"
            lines = (
                ",".join(map(str, rows[at : at + _PER_LINE]))
                for at in range(0, len(rows), _PER_LINE)
            )
            joined = ",\n    ".join(lines)
            stored = f"static const unsigned char data[] = {{\n    {joined}}};"
        headers = "".join(f"#include <{header}>\n" for header in sorted(self._headers))
        variables = [f"static {kind} *{_name(name)};" for name, kind in self._handles.items()]
        bytes_of = [
            f"static unsigned char *{_name(name)}_bytes;" for name in dict.fromkeys(self._memories)
        ]
        buffers = [f"static unsigned char *{_name(name)};" for name in self._buffers]
        body = "\n".join(calls)
        steps = "\n".join(f"    call_{number}();" for number in self._calls)
        parts = (
            PRELUDE.replace("@TITLE@", title).replace("@HEADERS@", headers),
            stored,
            *variables,
            *bytes_of,
            *buffers,
            "",
            body,
            "",
            "static void make_calls(void)",
            "{",
            steps,
            "}",
            _MAIN,
        )
        return "\n".join(parts)


_MAIN = """
int main(int argc, char **argv)
{
#ifdef DATA_FILE
    data = read_data(argc, argv, DATA_FILE);
    if (data == NULL)
        return 2;
#else
    (void)argc;
    (void)argv;
#endif
    make_calls();
    printf("%d calls, %d outputs compared, %d differences\\n", made_calls, compared, differences);
    return differences == 0 ? 0 : 1;
}
"""


def _name(handle: str) -> str:
    return handle.replace(" ", "_")


def _number(value: int, kind: str) -> str:
    """A literal within the range of a C type."""
    if value == RANGES["int64_t"][0]:
        return "INT64_MIN"
    is_wide = not RANGES["int32_t"][0] < value <= RANGES["int32_t"][1]
    return f"{value}{('LL' if value < 0 else 'ULL') if is_wide else ''}"


def _real(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{value.hex()}f" if value else "0"


def _array(declarator: str, name: str, items: Iterable[str], before: list[str]) -> str:
    """Declare an array with these elements; returns its name."""
    before.append(f"{declarator} = {{{', '.join(items)}}};")
    return name


def _channel_quantization(
    name: str, channel_dim: int, scales: Sequence[float] | None, before: list[str]
) -> str:
    """Declare parameters of per-channel quantization; returns their address."""
    scales_name = "NULL"
    if scales is not None:
        numbers = [_real(scale) for scale in scales] or ["0"]
        scales_name = f"{name}_scales"
        _array(f"static const float {scales_name}[]", scales_name, numbers, before)
    before.append(
        f"const ANeuralNetworksSymmPerChannelQuantParams {name} = "
        f"{{{channel_dim}u, {len(scales or ())}u, {scales_name}}};"
    )
    return f"&{name}"
