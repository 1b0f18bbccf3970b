"""What threads that come first at the same time agree on."""

import ctypes
import errno
import mmap
import os
import struct
import time
from pathlib import Path
from threading import Barrier, Thread

import pytest

from nnapi_shim.abi import tables
from nnapi_shim.drivers.adoption import Found
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.memory import FdMemory, HardwareBufferMemory

THREADS = 8


def at_once(function):
    """The results of as many threads as start together."""
    barrier, results = Barrier(THREADS), []

    def run():
        barrier.wait()
        results.append(function())

    threads = [Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture
def memory_file():
    file = os.memfd_create("test")
    os.ftruncate(file, 1 << 22)
    yield file
    os.close(file)


def slow_devices():
    def load():
        time.sleep(0.02)
        return CpuDevice()

    return [Found("nnapi-cpu", "this test", "none", load)]


def test_there_is_one_list_of_devices(monkeypatch):
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setattr(device_manager, "built_in_devices", slow_devices)
    monkeypatch.setattr(tables, "_device_handles", {})
    before = len(tables.devices)
    results = at_once(tables.device_handles)
    assert all(handles is results[0] for handles in results)
    assert len(results[0]) == 1
    assert len(tables.devices) == before + 1
    tables.devices.remove(results[0][0])


def test_a_memory_is_mapped_at_one_address(memory_file):
    for _ in range(20):
        memory = FdMemory(1 << 22, mmap.PROT_READ, memory_file, 0)
        assert len(set(at_once(memory.map))) == 1


def test_a_hardware_buffer_is_locked_once():
    """And unlocked when its memory goes."""
    build = Path(__file__).resolve().parents[2] / "build" / "lib"
    library = ctypes.CDLL(str(build / "libnativewindow.so"))
    desc = struct.pack("<IIIIQIIQ", 4096, 1, 1, 0x21, 0x33, 0, 0, 0)
    buffer = ctypes.c_void_p()
    assert library.AHardwareBuffer_allocate(desc, ctypes.byref(buffer)) == 0
    memory = HardwareBufferMemory(buffer.value)
    assert len(set(at_once(memory.map) + at_once(memory.map_for_output))) == 1
    assert library.AHardwareBuffer_unlock(buffer, None) == 0
    assert library.AHardwareBuffer_unlock(buffer, None) == -errno.EINVAL
    memory = HardwareBufferMemory(buffer.value)
    memory.map()
    del memory
    assert library.AHardwareBuffer_unlock(buffer, None) == -errno.EINVAL
    library.AHardwareBuffer_release(buffer)


@pytest.mark.parametrize(
    ("protect", "use"), [(0, "map"), (0, "map_for_output"), (mmap.PROT_READ, "map_for_output")]
)
def test_memory_without_the_protection_that_its_use_needs(memory_file, protect, use):
    memory = FdMemory(4096, protect, memory_file, 0)
    with pytest.raises(NnapiError, match="without PROT_") as caught:
        getattr(memory, use)()
    assert caught.value.code is ResultCode.UNMAPPABLE
