"""What a program and the process of a device share, and what is given back."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest

from nnapi_shim import NnapiError, address
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.hal.enums import ErrorStatus
from nnapi_shim.hal.types import Request, RequestArgument
from nnapi_shim.runtime.memory import FdMemory
from tests.drivers.isolated.conftest import X, bound, prepared, wait_until, works
from tests.runtime.hal_models import Builder, chain

READ, WRITE = 1, 2


def memory(length, content=b"", offset=0, protect=READ | WRITE):
    """Memory of a descriptor with this content."""
    file = messages.memory_file(length + offset)
    os.pwrite(file, content, offset)
    made = FdMemory(length, protect, file, offset)
    os.close(file)
    return made


def request(source, target):
    return Request(
        (RequestArgument(source, 8, (2,)),),
        (RequestArgument(target, 8, (2,)),),
    )


def test_memory_of_descriptors_is_not_copied(load):
    made = prepared(load())
    inputs, outputs = memory(4096, X.tobytes() * 4), memory(100, offset=8192)
    source, target = inputs.map() + 8, outputs.map_for_output() + 16
    execution = made.createReusableExecution(request(source, target), False, 0)
    for factor in (1, 3):
        address.write(source, (X * factor).tobytes())
        execution.compute(None)
        assert address.read(target, 8) == (2 * factor * X).tobytes()
    arguments = execution._arguments
    assert arguments.block is None and not arguments.before and not execution._after
    assert [*made.process.numbers.known] == [1, 2]
    again = made.createReusableExecution(request(source, target), False, 0)
    again.compute(None)
    assert [*made.process.numbers.known] == [1, 2], "memory is sent once"
    del execution, again, arguments, inputs, outputs
    gc.collect()
    assert not made.process.numbers.known and not made.process.numbers._of


def test_one_argument_in_memory_of_a_descriptor(load):
    made = prepared(load())
    outputs = memory(8)
    x = X * 5
    execution = made.createReusableExecution(
        request(x.ctypes.data, outputs.map_for_output()), False, 0
    )
    execution.compute(None)
    assert address.read(outputs.map(), 8) == (2 * x).tobytes()


def test_only_the_result_is_written(load):
    run = bound(prepared(load()), room=64)
    assert np.array_equal(run.outputs()[0], X + X)
    assert (run.buffers[0][8:] == 0xA5).all()


def test_a_buffer_that_is_too_small(load):
    run = bound(prepared(load()), room=4)
    for _ in range(2):
        result = run.compute()
        assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
        assert [*result.output_shapes] == [((2,), False)]
    assert (run.buffers[0] == 0xA5).all()


def test_a_forgotten_block_serves_again(load):
    made = prepared(load())
    bound(made).compute()
    gc.collect()
    for _ in range(5):
        run = bound(made)
        run.compute()
        assert [*made.process.numbers.known] == [1]
        del run


def test_constants_in_pools(load, tmp_path, monkeypatch):
    monkeypatch.setenv("TELL", str(tmp_path / "told"))
    device = load()
    b = Builder()
    x = b.input()
    model = b.model([x], [b.binary("ADD", x, x)])
    pools = [memory(10 + n, bytes([n]) * (10 + n), 4096 * n, READ) for n in range(1, 4)]
    pools += [Copied(bytes([n]) * 5000) for n in (5, 6)]
    many = [memory(1, bytes([1])) for _ in range(100)]
    prepared(device, model._replace(pools=(*pools, *many)))
    wait_until(lambda: (tmp_path / "told").read_text().endswith("freed\n"))
    *_, line, _ = (tmp_path / "told").read_text().splitlines()
    sizes = [(10 + n, n * (10 + n)) for n in range(1, 4)] + [(5000, 25000), (5000, 30000)]
    assert line == str([len(model.operand_values), sizes + [(1, 1)] * 100])


class Copied:
    """A pool in memory of the process."""

    since, is_immutable, can_release = 1, True, False

    def __init__(self, content):
        self.content, self.size = np.frombuffer(content, np.uint8), len(content)

    def map(self):
        return self.content.ctypes.data


def test_a_model_that_is_longer_than_a_packet(load):
    device = load()
    model = chain("ADD " * 3000)
    assert device.getSupportedOperations(model) == [True] * 3000
    assert device.getReasons(model) == [""] * 3000
    prepared(device, model)


def test_no_result_of_one_thread_is_that_of_another(load):
    made = prepared(load())
    wrong = []

    def compute(number):
        for at in range(30):
            value = np.float32([number, at])
            if not np.array_equal(bound(made, value).outputs()[0], 2 * value):
                wrong.append((number, at))

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def descriptors(id="self"):
    return len(os.listdir(f"/proc/{id}/fd"))


def maps(id="self"):
    with open(f"/proc/{id}/maps") as file:
        return sum("memfd" in line for line in file)


def test_nothing_is_left_of_what_is_freed(load):
    device = load()
    made = prepared(device)
    run = bound(made)
    run.compute()
    before = [descriptors(), maps(), descriptors(made.process.id), maps(made.process.id)]
    for _ in range(50):
        bound(prepared(device)).compute()
        inputs = memory(8, X.tobytes())
        source = inputs.map()
        again = made.createReusableExecution(request(source, source), False, 0)
        again.compute(None)
        del again, inputs
    gc.collect()
    made.process.call("", "wait", "misbehaving")  # it has heard of all that was freed
    after = [descriptors(), maps(), descriptors(made.process.id), maps(made.process.id)]
    assert all(now <= then + 2 for now, then in zip(after, before, strict=True)), (before, after)


def test_without_memory_to_share(load, monkeypatch):
    device = load()
    made = prepared(device)

    def fails(name):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", fails)
    with pytest.raises(Exception, match=r"no memory to share .*: Too many open files"):
        bound(made)
    monkeypatch.undo()
    assert works(device)


def test_a_block_that_goes_in_a_cycle_is_no_memory_of_a_later_run(load):
    """The collector finalizes what is in a cycle in any order."""
    made = prepared(load())
    for _ in range(3):
        run = bound(made)
        run.compute()
        cycle = [run]
        cycle.append(cycle)
        del run, cycle
        gc.collect()
        again = bound(made)
        assert np.array_equal(again.outputs()[0], X + X)


def test_an_error_keeps_no_arguments(load):
    run = bound(prepared(load()), np.float32([-1, 2]))
    with pytest.raises(NnapiError):
        run.compute()
    gone = weakref.ref(run.execution)
    gc.collect()
    gc.disable()
    try:
        try:
            run.compute()
        except NnapiError:
            del run
        assert gone() is None
    finally:
        gc.enable()
