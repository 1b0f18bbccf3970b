"""Captures that say what no program has done: each is refused, with what it says and where."""

import json
import subprocess
import sys
import zipfile
from binascii import crc32
from struct import pack

import pytest

from nnapi_shim.abi import tables
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.capture import load_capture, models_in
from nnapi_shim.recording.reading import read
from nnapi_shim.recording.vocabulary import PARAMETERS
from nnapi_shim.tools.replay import replay, write_reproducer
from tests.capture.conftest import LIBRARIES, ROOT, run


@pytest.fixture
def rewritten(tmp_path):
    """Gives the path of a capture whose lines, or whose manifest, a function has changed."""

    def made(path, change, member="calls-"):
        target = tmp_path / "capture.zip"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
            lines, names = [], old.namelist()
            for name in sorted(name for name in names if name.startswith("calls-")):
                lines += [json.loads(line) for line in old.read(name).splitlines()]
            manifest = json.loads(old.read("manifest.json"))
            change(lines if member == "calls-" else manifest)
            new.writestr("manifest.json", json.dumps(manifest))
            new.writestr("calls-000001.jsonl", "\n".join(json.dumps(line) for line in lines))
            for name in names:
                if name.startswith("arrays/"):
                    new.writestr(name, old.read(name))
            new.writestr("end.json", "{}")
        return target

    return made


@pytest.fixture(scope="module")
def slow(folder):
    """A computation that takes a while, started, waited for and freed."""
    file = folder / "slow.zip"
    command = [sys.executable, "-m", "tests.fuzz.slow"]
    subprocess.run(command, cwd=ROOT, env={"NNAPI_SHIM_CAPTURE": str(file)}, check=True)
    return file


def call_of(lines, short, result=0):
    """The first call of a function that ended so."""
    ends = [line for line in lines if line.get("result") == result]
    begun = {line["call"]: line for line in lines if "function" in line}
    for end in ends:
        if begun[end["call"]]["function"] == f"ANeuralNetworks{short}":
            return begun[end["call"]], end
    raise AssertionError(short)


INJECTED = '0, NULL); system("true"); (void)(0'


def test_nothing_but_what_a_function_has_gets_into_source(every_function, rewritten, tmp_path):
    """An argument that the function does not have, in a place where another one has it."""

    def change(lines):
        call, _ = call_of(lines, "Memory_createFromAHardwareBuffer")
        call["arguments"]["offset"] = INJECTED

    path = rewritten(every_function, change)
    for suffix in (".c", ".py"):
        (source,) = write_reproducer(path, tmp_path / f"program{suffix}")
        assert "system" not in source.read_text()


@pytest.mark.parametrize("items", [[0] * 100_000, [0] * 300, 5, None, ["0"], [2]])
def test_a_list_that_is_longer_than_what_a_call_fills(every_function, rewritten, items):
    def change(lines):
        _, end = call_of(lines, "Model_getSupportedOperationsForDevices")
        end["results"]["supportedOps"] = items

    with pytest.raises(NnapiError, match=r"getSupportedOperationsForDevices: supportedOps is .*; "):
        replay(rewritten(every_function, change))


@pytest.mark.parametrize("event", ["missing", None, "0x10", "event 7"])
def test_an_event_whose_handle_is_not_known(slow, rewritten, event):
    def change(lines):
        _, end = call_of(lines, "Execution_startCompute")
        if event == "missing":
            del end["results"]
        else:
            end["results"]["event"] = event

    path = rewritten(slow, change)
    try:
        replay(path)
    except NnapiError as error:
        assert str(path) in error.message
    assert not any(is_running(event) for event in tables.events.values())


def test_a_computation_that_succeeds_where_it_failed(slow, rewritten):
    """The replay's own events are waited for, whatever the capture says of those of the program."""

    def change(lines):
        _, end = call_of(lines, "Execution_startCompute")
        end["result"] = 4
        del end["results"]
        del lines[lines.index(end) + 1 :]

    report = replay(rewritten(slow, change))
    assert [item.what for item in report.differences] == ["result"]
    assert not any(is_running(event) for event in tables.events.values())


def is_running(event):
    return event._pending.locked() if hasattr(event, "_pending") else False


def _argument(short, name, value, result=0):
    def change(lines):
        call_of(lines, short, result)[0]["arguments"][name] = value

    return change


def _result(short, name, value):
    def change(lines):
        call_of(lines, short)[1]["results"][name] = value

    return change


def _said(short, **fields):
    def change(lines):
        call_of(lines, short)[1].update(fields)

    return change


def _type(name, value):
    def change(lines):
        call_of(lines, "Model_addOperand")[0]["arguments"]["type"][name] = value

    return change


def _without(short):
    def change(lines):
        call, _ = call_of(lines, short)
        lines[:] = [line for line in lines if line["call"] != call["call"]]

    return change


def _twice(lines):
    lines.append(dict(lines[4]))


def _output(name, value):
    def change(lines):
        call_of(lines, "Execution_compute")[1]["outputs"][0][name] = value

    return change


LIES = {
    "function": (lambda lines: lines[3].update(function="f */ g"), "the function is 'f */ g'; "),
    "number": (lambda lines: lines[3].update(call=0), "the number of a call is 0; allowed are 1"),
    "twice": (_twice, "call 5 is there twice"),
    "missing argument": (
        lambda lines: call_of(lines, "Model_create")[0]["arguments"].clear(),
        "model is missing; the call has model",
    ),
    "text": (
        _argument("Model_addOperation", "inputCount", "3"),
        "inputCount is '3'; allowed: whole numbers from 0 to 4294967295",
    ),
    "count": (_argument("Model_addOperation", "inputCount", 1000), "as many as inputCount says"),
    "operation": (_argument("Model_addOperation", "type", "ADDER"), "names and numbers of oper"),
    "boolean": (_argument("Execution_setInput", "index", True), "index is True; allowed: whole"),
    "large": (_argument("Execution_setInput", "index", 1 << 31), "index is 2147483648; allowed"),
    "float": (_argument("Execution_setInput", "length", 4.0), "length is 4.0; allowed: whole"),
    "huge": (_argument("Execution_setInput", "length", 10**300), "a number of more than 64 bits"),
    "negative": (_argument("Execution_setInput", "length", -1), "length is -1; allowed: whole"),
    "address": (_argument("Execution_setInput", "buffer", "0xg"), "buffer is '0xg'; allowed: a nu"),
    "a handle of nothing": (_argument("Model_finish", "model", "model 77"), "a call in front has"),
    "no handle": (_argument("Model_finish", "model", "model x"), "model is 'model x'; allowed: a"),
    "a forward reference": (
        _without("Model_create"),
        "model is 'model 1'; allowed: what a call in",
    ),
    "another kind": (_argument("Model_finish", "model", "device 1"), "a model, since the call has"),
    "made twice": (_result("Compilation_create", "compilation", "model 1"), "a new compilation"),
    "made into nothing": (_argument("Model_create", "model", None), "what the call gave, since it"),
    "made nothing": (_result("Compilation_create", "compilation", None), "a new compilation"),
    "type": (_type("type", "TENSOR"), "an operand type whose type has a name or a number"),
    "dimensions": (_type("dimensionCount", 9), "whose dimensions are a list of 9 dimensions"),
    "scale": (_type("scale", "1"), "an operand type whose scale is of numbers up to"),
    "zero point": (_type("zeroPoint", 1 << 31), "whose zeroPoint is of whole numbers from -21474"),
    "result": (_said("Model_finish", result=None), "the result code of a call that has ended"),
    "result of a free": (
        lambda lines: next(x for x in lines if "_free" in x.get("function", "")).update(result=0),
        "result is 0; allowed: none",
    ),
    "outputs": (_output("index", 5), "index of outputs is 5; allowed: outputs that were set"),
    "room": (
        _output("contents", {"dtype": "|u1", "shape": [300], "hex": "00" * 300}),
        "contents of outputs is 300; allowed: up to",
    ),
    "digits": (
        _output("contents", {"dtype": "|u1", "shape": [3], "hex": "00 00 00"}),
        "contents of 6 hexadecimal digits",
    ),
    "member": (
        _output("contents", {"dtype": "|u1", "shape": [3], "array": "manifest.json"}),
        "in an array that the capture has",
    ),
    "execution": (
        _said("Execution_compute", of="model 1"),
        "of is 'model 1'; allowed: a handle of",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_no_program_has_done(example, rewritten, lie):
    """The capture, the call, what was given, and what is allowed."""
    change, messages = LIES[lie]
    path = rewritten(example("simple_add"), change)
    with pytest.raises(NnapiError) as caught:
        read(path)
    message = caught.value.message
    assert messages in message and message.startswith(f"{path}: "), message
    assert message.isprintable() and len(message) < 500


def test_a_hardware_buffer_that_is_none(every_function, rewritten):
    path = rewritten(every_function, _argument("Memory_createFromAHardwareBuffer", "ahwb", None))
    with pytest.raises(NnapiError, match="ahwb is None; allowed: an object, since the call has"):
        read(path)


def test_a_device_too_many(example, rewritten):
    path = rewritten(example("devices"), _result("_getDevice", "device", "device 3"))
    with pytest.raises(NnapiError, match="device is 'device 3'; allowed: one of the devices"):
        read(path)


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (lambda manifest: manifest.update(devices=[{"name": "a\nb"}]), "a line of text"),
        (lambda manifest: manifest.update(devices=True), "a list of objects with a name"),
        (lambda manifest: manifest.update(program="text"), "is to be a list of texts"),
    ],
)
def test_manifests_that_lie(example, rewritten, change, messages):
    path = rewritten(example("simple_add"), change, "manifest")
    with pytest.raises(NnapiError, match=messages):
        read(path)


def test_a_part_of_a_memory_behind_its_beginning(program, rewritten, tmp_path):
    """Length 0 is all of a memory, from its beginning; there is no more behind another offset."""
    file = tmp_path / "memory.zip"
    assert run(program, "memory", NNAPI_SHIM_CAPTURE=file).returncode == 0

    def change(lines):
        call, _ = call_of(lines, "Execution_setOutputFromMemory")
        call["arguments"].update(offset=4095, length=0)
        _, end = call_of(lines[lines.index(call) :], "Execution_compute")
        end["outputs"][0]["contents"] = {"dtype": "|u1", "shape": [4096], "hex": "00" * 4096}

    with pytest.raises(NnapiError, match="contents of outputs is 4096; allowed: up to 1 bytes"):
        read(rewritten(file, change))


def test_contents_of_a_buffer_that_is_left_out(example, rewritten, tmp_path):
    """They are not put into an earlier one, which is smaller."""

    def change(lines):
        call, _ = call_of(lines, "Execution_setInput")
        second = json.loads(json.dumps(call))
        second["call"] = call["call"] + 0.5
        second["arguments"]["length"] = 1 << 40
        lines.insert(lines.index(call) + 1, second)
        numbers = sorted({line["call"] for line in lines})
        for line in lines:
            line["call"] = numbers.index(line["call"]) + 1
        begun, _ = call_of(lines, "Execution_compute")
        item = next(x for x in begun["inputs"] if x["index"] == call["arguments"]["index"])
        item["contents"] = {"dtype": "|u1", "shape": [4096], "hex": "00" * 4096}

    path = rewritten(example("simple_add"), change)
    assert len(replay(path).skipped) == 1
    (source,) = write_reproducer(path, tmp_path / "program.c")
    assert ", 4096);" not in source.read_text()


RANK = 70_000
"""More dimensions than programs have, or arrays of a fixed size."""


def test_an_output_of_many_dimensions(every_function, rewritten, tmp_path):
    """However many the capture says: the call that gives them writes those that there are."""

    def change(lines):
        kind = {"scale": 0.0, "zeroPoint": 0}
        texts = [
            ("Model_create", {"model": "set"}, {"model": "model 900"}),
            *(
                ("Model_addOperand", {"model": "model 900", "type": {**kind, **given}}, {})
                for given in (
                    {"type": "TENSOR_FLOAT32", "dimensionCount": 1, "dimensions": [1]},
                    {"type": "TENSOR_INT32", "dimensionCount": 1, "dimensions": [RANK]},
                    {"type": "TENSOR_FLOAT32", "dimensionCount": 0, "dimensions": None},
                )
            ),
            (
                "Model_setOperandValue",
                {
                    "model": "model 900",
                    "index": 1,
                    "length": 4 * RANK,
                    "buffer": {"dtype": "<i4", "shape": [RANK], "hex": "01000000" * RANK},
                },
                {},
            ),
            (
                "Model_addOperation",
                {
                    "model": "model 900",
                    "type": "RESHAPE",
                    "inputCount": 2,
                    "inputs": [0, 1],
                    "outputCount": 1,
                    "outputs": [2],
                },
                {},
            ),
            (
                "Model_identifyInputsAndOutputs",
                {
                    "model": "model 900",
                    "inputCount": 1,
                    "inputs": [0],
                    "outputCount": 1,
                    "outputs": [2],
                },
                {},
            ),
            ("Model_finish", {"model": "model 900"}, {}),
            (
                "Compilation_create",
                {"model": "model 900", "compilation": "set"},
                {"compilation": "compilation 900"},
            ),
            ("Compilation_finish", {"compilation": "compilation 900"}, {}),
            (
                "Execution_create",
                {"compilation": "compilation 900", "execution": "set"},
                {"execution": "execution 900"},
            ),
            *(
                (
                    f"Execution_set{role}",
                    {
                        "execution": "execution 900",
                        "index": 0,
                        "type": None,
                        "buffer": "0x1000",
                        "length": 4,
                    },
                    {},
                )
                for role in ("Input", "Output")
            ),
            ("Execution_compute", {"execution": "execution 900"}, {}),
            (
                "Execution_getOutputOperandDimensions",
                {"execution": "execution 900", "index": 0, "dimensions": "set"},
                {"dimensions": [1, 2]},
            ),
        ]
        lines[:] = [
            {
                "call": number,
                "function": f"ANeuralNetworks{short}",
                "end": 1,
                "result": 0,
                "arguments": arguments,
                "results": results,
            }
            for number, (short, arguments, results) in enumerate(texts, 1)
        ]

    path = rewritten(every_function, change)
    report = replay(path)
    assert [(item.expected, item.found) for item in report.differences] == [("[1, 2]", "[1, 1]")]
    assert report.skipped == []
    source, _ = write_reproducer(path, tmp_path / "program.c")
    flags = ["-fsanitize=address", "-fno-omit-frame-pointer", "-std=c99", f"-I{ROOT / 'include'}"]
    program = tmp_path / "program"
    command = ["cc", *flags, source, "-o", program, f"-L{LIBRARIES}", "-lneuralnetworks", "-lm"]
    subprocess.run([str(word) for word in command], check=True)
    done = run(program, ASAN_OPTIONS="detect_leaks=0")
    assert done.returncode == 1, done.stderr
    assert "dimensions is 1; it was 2" in done.stdout


def test_the_name_of_the_program_is_a_comment(example, rewritten, tmp_path):
    def change(manifest):
        manifest["program"] = ['/bin/a\n*/"""\\ *@HEADERS@/ b']

    path = rewritten(example("simple_add"), change, "manifest")
    for suffix in (".c", ".py"):
        (source,) = write_reproducer(path, tmp_path / f"program{suffix}")
        assert "The Neural Networks calls of b, from a capture." in source.read_text()


def test_whatever_programs_do_is_taken(every_function, example):
    """A program that uses every function, well and badly; and examples."""
    for path in (every_function, example("async"), example("basic")):
        capture = read(path)
        assert all(call.function in PARAMETERS for call in capture.calls)
        assert [load_capture(capture, name) for name in models_in(capture)]


def test_the_vocabulary_has_the_types_of_the_headers():
    """What a number may be is what the C type of its argument holds."""
    from nnapi_shim import capi

    for name, parameters in PARAMETERS.items():
        declared = capi.ffi.typeof(getattr(capi.lib, name)).args
        for parameter, type in zip(parameters, declared, strict=True):
            if parameter.kind in ("out", "outs"):
                assert type.item.cname == parameter.of, (name, parameter)
            elif parameter.kind in ("int", "fd", "float"):
                said = parameter.of or {"fd": "int"}.get(parameter.kind, parameter.kind)
                assert type.cname == said, (name, parameter)


def test_a_directory_that_leads_beyond_every_file(tmp_path):
    """An offset of 64 bits that no C integer holds."""
    content, name = b'{"format":"nnapi-shim-capture","version":1}', b"manifest.json"
    sizes = (crc32(content), len(content), len(content), len(name))
    local = pack("<4s5H3L2H", b"PK\3\4", 45, 0, 0, 0, 33, *sizes, 0) + name + content
    extra = pack("<HHQ", 1, 8, 2**64 - 1)
    entry = pack(
        "<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 0, 0, 33, *sizes, len(extra), *[0] * 4, 2**32 - 1
    )
    entry += name + extra
    end = pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)
    path = tmp_path / "capture.zip"
    path.write_bytes(local + entry + end)
    assert read(path).calls == []
