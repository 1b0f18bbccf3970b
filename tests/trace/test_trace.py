"""Traces of C programs: calls, runtime, devices and operations as slices that nest and add up."""

import json
import signal
import subprocess
from collections import Counter, defaultdict

import pytest

from tests.capture.conftest import EXAMPLES, HERE, ROOT, compiled, run

LANES = ["api", "runtime", "device", "operation"]


class Slice:
    """Something that took time, and what was done within it."""

    def __init__(self, event, start, end):
        self.name, self.category, self.arguments = event["name"], event["cat"], event["args"]
        self.start, self.end, self.inner = start, end, []

    @property
    def all(self):
        return [self, *(below for item in self.inner for below in item.all)]


def nanoseconds(text):
    whole, _, part = text.partition(".")
    assert len(part) == 3
    return 1000 * int(whole) + int(part)


def events_of(text):
    """All events; times are exact, in ns."""
    return json.loads(text, parse_float=nanoseconds)


def slices_of(events):
    """Per thread the slices that lie in no other; all must nest."""
    actual = defaultdict(list)
    open_ones = defaultdict(list)
    for event in events:
        thread = event.get("tid")
        if event["ph"] == "B":
            open_ones[thread].append(event)
        elif event["ph"] == "E":
            begun = open_ones[thread].pop()
            begun["args"].update(event["args"])
            actual[thread].append(Slice(begun, begun["ts"], event["ts"]))
        elif event["ph"] == "X":
            actual[thread].append(Slice(event, event["ts"], event["ts"] + event["dur"]))
    assert not any(open_ones.values())
    return {thread: nested(slices) for thread, slices in actual.items()}


def nested(slices):
    outermost, around = [], []
    for item in sorted(slices, key=lambda item: (item.start, -item.end)):
        while around and around[-1].end <= item.start:
            around.pop()
        if around:
            assert item.end <= around[-1].end, (item.name, around[-1].name)
            around[-1].inner.append(item)
        else:
            outermost.append(item)
        around.append(item)
    return outermost


def check_sums(slices):
    for item in slices:
        assert sum(below.end - below.start for below in item.inner) <= item.end - item.start
        check_sums(item.inner)


def traced(program, tmp_path, *arguments, **settings):
    file = tmp_path / "trace.json"
    done = run(program, *arguments, NNAPI_SHIM_TRACE=file, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    return events_of(file.read_text())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(HERE / "program.c", tmp_path_factory.mktemp("trace") / "program")


def test_an_example(tmp_path):
    events = traced(EXAMPLES / "mobilenet_block", tmp_path)
    assert events[0]["name"] == "process_name"
    assert events[0]["args"] == {"name": "mobilenet_block"}
    names = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["ph"] == "M" and "tid" in event
    }
    assert set(names) == {event["tid"] for event in events if event["ph"] != "M"}
    assert {event["pid"] for event in events} == {events[0]["pid"]}
    (slices,) = slices_of(events).values()
    check_sums(slices)
    assert {item.category for item in slices} == {"api"}
    assert all(item.arguments["result"] == 0 for item in slices)
    for item in slices:
        for lower in item.all:
            for inner in lower.inner:
                assert LANES.index(inner.category) >= LANES.index(lower.category) - (
                    lower.category == "device" and inner.category == "runtime"
                )
    finish = next(item for item in slices if item.name == "ANeuralNetworksCompilation_finish")
    (packing,) = (item for item in finish.all if item.name == "packing")
    assert "pack_f32" in packing.arguments["kernels"]
    assert {"partition", "nnapi-cpu: prepare", "lowering", "assembly"} <= {
        item.name for item in finish.all
    }
    compute = next(item for item in slices if item.name == "ANeuralNetworksExecution_compute")
    (device,) = [item for item in compute.all if item.name == "nnapi-cpu: run"]
    assert device.arguments == {"operations": "0-6"}
    messages = [item for item in device.inner if item.category == "operation"]
    numbers = [int(item.name.partition("(")[2].rstrip(")")) for item in messages]
    # ADD, 3, is done at the end of the product in front of it.
    assert numbers == sorted(numbers) and set(numbers) == {0, 1, 2, 4, 5, 6}
    assert all(item.arguments["kernel"] for item in messages)
    assert "CONV_2D (0)" in {item.name for item in messages}


def test_the_reference_device(tmp_path):
    events = traced(EXAMPLES / "simple_add", tmp_path, DEBUG_NN_CPUONLY=1)
    (slices,) = slices_of(events).values()
    (operation,) = [i for item in slices for i in item.all if i.category == "operation"]
    assert operation.name == "ADD (0)"
    assert operation.arguments == {"operation": "ADD (operation 0)"}


def test_several_devices(tmp_path):
    """Each partition is a slice of its device's."""
    drivers = ROOT / "examples" / "drivers"
    events = traced(
        EXAMPLES / "mobilenet_block", tmp_path, NNAPI_SHIM_DRIVERS=drivers, NNAPI_SHIM_LOG="silent"
    )
    slices = [item for thread in slices_of(events).values() for item in thread]
    check_sums(slices)
    runs = {i.name for item in slices for i in item.all if i.name.endswith(": run")}
    assert "nnapi-cpu: run" in runs


def test_threads(program, tmp_path):
    events = traced(program, tmp_path, "threads")
    threads = slices_of(events)
    assert len(threads) == 5
    for slices in threads.values():
        check_sums(slices)
    computed = Counter(
        thread
        for thread, slices in threads.items()
        for item in slices
        if item.name == "ANeuralNetworksExecution_compute"
    )
    assert sorted(computed.values()) == [1, 20, 20, 20, 20]


def test_asynchronous_runs(tmp_path):
    """What another thread computes lies on its lane."""
    threads = slices_of(traced(EXAMPLES / "async", tmp_path))
    messages = [i for slices in threads.values() for item in slices for i in item.all]
    assert sum(item.category == "operation" for item in messages) >= 17


def test_a_program_that_dies(program, tmp_path):
    """The call that it died in has a beginning."""
    file = tmp_path / "trace.json"
    done = run(program, "crash", NNAPI_SHIM_TRACE=file)
    assert done.returncode == -signal.SIGSEGV
    events = events_of(file.read_text() + "]")
    begun = [event for event in events if event["ph"] in "BE"]
    assert begun[-1]["name"] == "ANeuralNetworksExecution_compute"
    assert begun[-1]["ph"] == "B"


def test_refusals_have_their_reason(tmp_path):
    source = tmp_path / "refused.c"
    source.write_text(
        "#include <android/NeuralNetworks.h>\n"
        "int main(void) { return ANeuralNetworksModel_finish(0) == 3 ? 0 : 1; }\n"
    )
    program = compiled(source, tmp_path / "refused")
    (slices,) = slices_of(traced(program, tmp_path, NNAPI_SHIM_LOG="silent")).values()
    (call,) = slices
    assert call.arguments["result"] == 3
    assert call.arguments["error"].startswith("UNEXPECTED_NULL: model ")


def test_with_a_capture(program, tmp_path):
    from nnapi_shim.recording.reading import read

    traced(program, tmp_path, "threads", NNAPI_SHIM_CAPTURE=tmp_path / "capture.zip")
    assert read(tmp_path / "capture.zip").is_complete


def test_a_fork_writes_nothing(program, tmp_path):
    events = traced(program, tmp_path, "fork")
    assert len({event["pid"] for event in events}) == 1
    slices = [item for thread in slices_of(events).values() for item in thread]
    assert [item.name for item in slices].count("ANeuralNetworksExecution_compute") == 2


def test_sections_of_the_program_lie_beside(tmp_path):
    """A program's own sections are in the same file, around the calls that are made in them."""
    source = tmp_path / "sections.c"
    source.write_text(
        "#include <android/NeuralNetworks.h>\n#include <android/trace.h>\n"
        "int main(void) {\n"
        "  ANeuralNetworksModel *model = 0;\n"
        '  ATrace_beginSection("mine");\n'
        "  int code = ANeuralNetworksModel_create(&model);\n"
        "  ANeuralNetworksModel_free(model);\n"
        "  ATrace_endSection();\n"
        "  return code;\n}\n"
    )
    include = f"-I{ROOT / 'include' / 'companion'}"
    program = tmp_path / "sections"
    command = ["cc", f"-I{ROOT / 'include'}", include, source, "-o", program]
    command += [f"-L{ROOT / 'build' / 'lib'}", "-landroid", "-lneuralnetworks"]
    subprocess.run(command, check=True)
    events = [event for event in traced(program, tmp_path) if event["ph"] in "BE"]
    assert [event["name"] for event in events if event["ph"] == "B"] == [
        "mine",
        "ANeuralNetworksModel_create",
        "ANeuralNetworksModel_free",
    ]
    assert [event["ph"] for event in events] == list("BBEBEE")
