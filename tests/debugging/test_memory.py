"""valgrind, AddressSanitizer, LeakSanitizer and ThreadSanitizer, as the page says."""

import re

import pytest

from tests.debugging.conftest import ROOT, SUPPRESSIONS, line_of, need, run
from tests.memory.sanitizing import THREAD, reason_it_does_not_work

EXAMPLES = ROOT / "c_examples"
VALGRIND = "valgrind --leak-check=full --error-exitcode=9 --num-callers=40 --suppressions={}"
LEAKS = "suppressions={}:print_suppressions=0:intercept_tls_get_addr=0"


def valgrind(*program, **environment):
    """What runs a program in memcheck; errors are exit status 9."""
    need("valgrind")
    command = VALGRIND.format(SUPPRESSIONS / "valgrind.supp").split()
    return run(*command, "-q", *program, **environment)


@pytest.fixture(scope="module", params=["gcc", "clang"])
def sanitized(request, compile_c):
    """A function that compiles with AddressSanitizer and runs a program."""
    need(request.param)

    def run_sanitized(name, source=None, arguments=(), **environment):
        program = compile_c(name, "-fsanitize=address", compiler=request.param, source=source)
        leaks = {"LSAN_OPTIONS": LEAKS.format(SUPPRESSIONS / "lsan.supp")}
        return run(program, *arguments, **(leaks | environment))

    return run_sanitized


@pytest.mark.parametrize("name", ["mobilenet_block", "async"])
def test_valgrind_finds_nothing_in_a_correct_program(name):
    done = valgrind(ROOT / "build" / "c_examples" / name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLES / f"{name}.expected").read_text()


@pytest.mark.slow
def test_valgrind_finds_nothing_on_the_reference_device(mobilenet_block):
    done = valgrind(mobilenet_block, DEBUG_NN_CPUONLY="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_valgrind_finds_what_a_program_loses(compile_c):
    done = valgrind(compile_c("leaking"))
    assert done.returncode == 9
    lost = re.findall(r"([\d,]+) bytes in 1 blocks are \w+ lost", done.stderr)
    assert lost == ["1,001", "2,002"]
    assert re.search(r"lose_late \(leaking\.c:", done.stderr)


def test_valgrind_finds_what_a_kernel_reads_of_freed_memory(compile_c):
    done = valgrind(compile_c("leaking"), "again")
    assert done.returncode == 9
    report = done.stderr.partition("Invalid read of size")[2].partition("Invalid read")[0]
    assert re.match(r" \d+\n.*? at 0x\w+: .*libnnapi_kernels_\w+\.so\)\n", report)
    stack, _, block = report.partition("free'd")
    assert "nnk_add_f32" in stack
    assert "ANeuralNetworksExecution_compute" in stack
    assert f"main (leaking.c:{line_of('leaking.c', 'input, output);', last=True)})" in stack
    assert f"main (leaking.c:{line_of('leaking.c', '    free(input);')})" in block


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("name", ["mobilenet_block", "async"])
def test_sanitizers_find_nothing_in_a_correct_program(sanitized, name, device):
    only = {"DEBUG_NN_CPUONLY": "1"} if device == "nnapi-reference" else {}
    done = sanitized(name, source=EXAMPLES / f"{name}.c", **only)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLES / f"{name}.expected").read_text()


@pytest.mark.parametrize("lint", ["0", "1"])
@pytest.mark.parametrize("what", ["kept", "changed", "freed", "unmapped"])
def test_constants_that_finish_reads_too_late(compile_c, what, lint):
    done = run(compile_c("constant"), what, NNAPI_SHIM_LINT=lint)
    assert done.returncode == 0
    is_found = what == "unmapped" or (lint == "1" and what != "kept")
    assert done.stdout == ("4\n" if is_found else "0\n")
    rule = "value-freed" if what == "unmapped" else "value-changed"
    assert (f"[model.finish.{rule}]" in done.stderr) == is_found
    assert ("operand 1: its value" in done.stderr) == is_found


@pytest.mark.parametrize("what", ["freed", "unmapped"])
def test_sanitizers_find_freed_constants(sanitized, what):
    done = sanitized("constant", arguments=[what])
    assert done.returncode != 0
    assert "AddressSanitizer: heap-use-after-free" in done.stderr
    read, _, freed = done.stderr.partition("freed by thread")
    assert "ANeuralNetworksModel_finish" in read
    line = line_of("constant.c", "too early")
    assert f"constant.c:{line}" in freed


def test_valgrind_finds_freed_constants(compile_c):
    done = valgrind(compile_c("constant"), "freed")
    assert done.returncode == 9
    assert f"main (constant.c:{line_of('constant.c', 'too early')})" in done.stderr


def test_sanitizers_find_what_a_program_loses(sanitized):
    done = sanitized("leaking")
    assert done.returncode != 0
    lost = re.findall(r"leak of (\d+) byte\(s\) in 1 object", done.stderr)
    assert sorted(lost) == ["1001", "2002"]
    assert "in lose_early" in done.stderr
    assert "SUMMARY: AddressSanitizer: 3003 byte(s) leaked in 2 allocation(s)." in done.stderr


def test_without_the_file_python_is_found(sanitized):
    """It's the file that does it."""
    options = "intercept_tls_get_addr=0"
    example = EXAMPLES / "mobilenet_block.c"
    done = sanitized("mobilenet_block", source=example, LSAN_OPTIONS=options)
    assert done.returncode != 0
    assert "libpython3." in done.stderr


@pytest.fixture(scope="module")
def threaded(compile_c):
    """A function that compiles with ThreadSanitizer and runs a program."""
    if reason := reason_it_does_not_work(THREAD):
        pytest.skip(reason)

    def run_threaded(name, source=None, **environment):
        return run(compile_c(name, "-fsanitize=thread", source=source), **environment)

    return run_threaded


@pytest.mark.parametrize("only_cpu", [{}, {"DEBUG_NN_CPUONLY": "1"}])
def test_no_race_in_a_correct_program(threaded, only_cpu):
    done = threaded("async", source=EXAMPLES / "async.c", **only_cpu)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLES / "async.expected").read_text()


def test_races_of_a_program_are_found(threaded):
    done = threaded("racing")
    assert done.returncode == 66
    assert done.stderr.count("WARNING: ThreadSanitizer: data race") == 1
    assert f"make_models {ROOT}/tests/debugging/racing.c:" in done.stderr
    assert f"racing.c:{line_of('racing.c', 'the race')} " in done.stderr
