"""perf shows kernels by their names, and who called them."""

import re

import pytest

from tests.debugging.conftest import need, run

RECORD = "perf record -e cpu-clock -F 1999 --call-graph dwarf,32768"
REPORT = "perf report --no-children -g none --sort dso,symbol"
CALLERS = (
    "main",
    "run_model",
    "ANeuralNetworksExecution_compute",
    "nnk_depthwise_conv_2d_f32",
)
"""Of the function that does the work of a depthwise convolution, from outside in."""


@pytest.fixture(scope="module")
def recorded(mobilenet_block, tmp_path_factory):
    """What perf recorded of many executions."""
    need("perf")
    data = tmp_path_factory.mktemp("perf") / "perf.data"
    done = run(*RECORD.split(), "-q", "-o", data, mobilenet_block, "20000")
    if done.returncode != 0 and re.search("not supported|[Pp]ermission|perf_event", done.stderr):
        pytest.skip(f"perf cannot record here: {done.stderr.strip().splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return data


def test_kernels_have_names(recorded):
    done = run(*REPORT.split(), "--stdio", "-i", recorded)
    assert done.returncode == 0, done.stderr
    in_kernels = re.findall(r" libnnapi_kernels_\w+\.so +\[\.\] (\S+)", done.stdout)
    assert any(name.startswith("nnk_depthwise_f32_") for name in in_kernels)
    assert any(re.match(r"nnk_tile_(u8s8|q8|f32)_", name) for name in in_kernels)
    assert not [name for name in in_kernels if name.startswith("0x")]


def stacks(data, innermost):
    """The stacks, from outside in, of samples in functions of such a name or library."""
    script = run("perf", "script", "-i", data, "-F", "comm,ip,sym,dso")
    assert script.returncode == 0, script.stderr
    for sample in script.stdout.split("\n\n"):
        frames = [line.split(maxsplit=1)[-1] for line in sample.splitlines()[1:]]
        if frames and re.search(innermost, frames[0]):
            yield [frame.rpartition(" (/")[0] or frame for frame in frames[::-1]]


def test_kernels_have_callers(recorded):
    result = list(stacks(recorded, "^nnk_depthwise_f32_"))
    whole = [names for names in result if [n for n in names if n in CALLERS] == list(CALLERS)]
    assert len(whole) > 0.9 * len(result) > 0, result


def test_a_stack_goes_through_any_kernel(recorded):
    result = list(stacks(recorded, r"\(\S*/libnnapi_kernels_\w+\.so\)"))
    whole = [names for names in result if set(CALLERS[:3]) <= set(names)]
    assert len(result) > 50
    assert len(whole) > 0.95 * len(result), [names for names in result if names not in whole]
