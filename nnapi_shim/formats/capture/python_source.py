"""Writes a capture as a Python program that needs nnapi_shim and numpy."""

from collections.abc import Iterator
from typing import Any

from nnapi_shim.formats.capture.data import NO_FOLDER, Data
from nnapi_shim.formats.capture.plan import Planned, Value
from nnapi_shim.recording.vocabulary import C_TYPES, Parameter

_PER_LINE = 60


class Python:
    """Writes each call as calls of the helpers in PRELUDE."""

    def __init__(self) -> None:
        self._operations = 1

    def call(self, plan: Planned, data: Data) -> Iterator[str]:
        """The lines of a call."""
        call = plan.call
        if plan.why_not:
            yield f"# call {call.number}, {call.function}, is left out: {plan.why_not}"
            return
        self._operations += call.short == "Model_addOperation"
        for fill in plan.fills:
            at, length = data.locate(fill.contents)
            yield f"fill({fill.target!r}, {fill.offset}, data({at}, {length}))"
        if call.short == "Memory_createFromAHardwareBuffer":
            size, memory = plan.values
            words = [str(size.value), "3", f"memory_file({size.value}, 0, {memory.value!r})", "0"]
            words.append(f'made("{C_TYPES["memory"]}", {memory.value!r})')
            function = "ANeuralNetworksMemory_createFromFd"
        else:
            function = call.function
            words = []
            for parameter, value in zip(plan.parameters, plan.values, strict=True):
                words.append(self._argument(plan, parameter, value, data, words))
        arguments = "".join(f", {word}" for word in words)
        yield f'call({call.number}, "{function}", {call.result}{arguments})'
        for name in plan.compared:
            yield f"equal({call.number}, {name!r}, {_value(call.results[name])!r})"
        for check in plan.checks:
            at, length = data.locate(check.contents)
            yield (
                f"compare({call.number}, {check.output}, {check.target!r}, {check.offset}, "
                f"{check.contents['dtype']!r}, data({at}, {length}), {check.absolute!r}, "
                f"{check.relative!r})"
            )

    def _argument(
        self, plan: Planned, parameter: Parameter, value: Value, data: Data, front: list[str]
    ) -> str:
        """An argument as an expression; front: the expressions of the preceding arguments."""
        kind, content = value.kind, value.value
        if kind == "null" or (kind == "handle" and content is None):
            return "NULL"
        if kind == "int":
            return repr(content)
        if kind == "float":
            return _float(content)
        if kind == "handle":
            return f'handle("{C_TYPES[value.of]}", {content!r})'
        if kind == "made":
            return f'made("{C_TYPES[value.of]}", {content!r})'
        if kind == "handles":
            of = C_TYPES["device" if parameter.name == "devices" else "event"]
            return f'handles("{of}", {content!r})'
        if kind == "string":
            text = NO_FOLDER if plan.call.short == "Compilation_setCaching" else content
            return f"keep(ffi.new('char[]', {text.encode(errors='surrogateescape')!r}))"
        if kind == "token":
            return f"keep(ffi.new('uint8_t[]', {content!r}))"
        if kind == "numbers":
            return f"keep(ffi.new('uint32_t[]', {content!r}))"
        if kind == "data":
            at, length = data.locate(content)
            return f"constant({at}, {length})"
        if kind == "type":
            code, sizes, count, scale, zero_point = content
            return f"operand_type({code}, {sizes!r}, {count}, {_float(scale)}, {zero_point})"
        if kind == "scales":
            dim, scales = content
            shown = None if scales is None else [float(item) for item in scales]
            return f"scales({dim}, {shown!r})"
        if kind == "buffer":
            return f"buffer({content!r}, {value.of})"
        if kind == "memory file":
            return f"memory_file({content}, {value.of}, {plan.made!r})"
        if kind == "fence":
            return "fence()" if content else "-1"
        if kind == "text":
            return "ffi.new('const char **')"
        if kind == "out":
            return f'variable("{value.of} *", {parameter.name!r})'
        if parameter.name == "dimensions":
            count = len(plan.call.results.get("dimensions", ()))
            return f"sizes({parameter.name!r}, {', '.join(front)}, {count})"
        return f'variable("{value.of}[{self._operations}]", {parameter.name!r})'

    def program(self, title: str, calls: list[str], data: bytes, file: str) -> str:
        """The source."""
        from nnapi_shim.formats.capture.python_prelude import PRELUDE

        if file:
            folder = "os.path.dirname(os.path.abspath(__file__))"
            stored = f"with open(os.path.join({folder}, {file!r}), 'rb') as _file:\n"
            stored += "    DATA = _file.read()"
        else:
            digits = data.hex()
            rows = [digits[at : at + _PER_LINE] for at in range(0, len(digits), _PER_LINE)]
            lines = "".join(f'    "{row}"\n' for row in rows)
            stored = f"DATA = bytes.fromhex(\n{lines or chr(34) * 2}\n)"
        parts = (
            PRELUDE.replace("@TITLE@", title),
            stored,
            "",
            "",
            "def main() -> int:",
            '    """Repeat the calls; 1 if results differ, else 0."""',
            *(f"    {call}" for call in calls),
            '    print(f"{calls} calls, {compared} outputs compared, {differences} differences")',
            "    return 1 if differences else 0",
            "",
            "",
            'if __name__ == "__main__":',
            "    sys.exit(main())",
            "",
        )
        return "\n".join(parts)


def _value(value: Any) -> Any:
    return [int(item) for item in value] if isinstance(value, list) else int(value)


def _float(value: float) -> str:
    return f"float({str(value)!r})" if value != value or abs(value) == float("inf") else repr(value)
