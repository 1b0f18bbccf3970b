"""IREE: a device for the processor, and one for each device of Vulkan, CUDA and HIP."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import metadata
from threading import Lock
from typing import Any

import numpy as np
from iree import runtime

from nnapi_shim import address, log, process
from nnapi_shim.drivers.engines.declined import why_declined
from nnapi_shim.drivers.engines.declined_by_iree import DECLINED
from nnapi_shim.drivers.engines.device_buffer import require_generation
from nnapi_shim.drivers.engines.engine import PERFORMANCE, Buffer, File, Target, Wishes
from nnapi_shim.drivers.engines.iree_compiler import compiled, function_of
from nnapi_shim.drivers.engines.iree_targets import ANY, GPUS, PROCESSOR, VULKAN, options_of
from nnapi_shim.drivers.engines.kept import kept
from nnapi_shim.errors import last_line, op_failed
from nnapi_shim.hal.enums import DeviceType, OperandType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import Dimensions, PerformanceInfo, element_count

_COMPILING_IS_SLOW = PerformanceInfo(2.0, 2.0)
"""For processors: seconds of compiling are worth it where a program or a calibration says so."""

_MEMORY = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
_USAGE = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
"""Of memory that the program writes and the device reads."""


class Engine:
    """As engine.Engine."""

    format = ".onnx"
    takes_external = False

    def __init__(self) -> None:
        self._version = metadata.version("iree-base-runtime")
        compiler = metadata.version("iree-base-compiler")
        if compiler != self._version:
            raise op_failed(
                f"iree-base-compiler {compiler} and iree-base-runtime {self._version} do not fit "
                "together",
                "engine.versions",
            )
        self._lock = process.lock()
        self._devices: dict[str, Any] = {}
        self._generation = process.generation[0]
        self._options = {PROCESSOR: ANY[PROCESSOR]}
        """Place of a target -> options of the compiler."""

    def targets(self) -> list[Target]:
        """iree-cpu, and iree-vulkan.0 and others, one for each device of a driver."""
        own = Target("iree-cpu", PROCESSOR, DeviceType.CPU, self._version, _COMPILING_IS_SLOW)
        return [own, *(target for driver in GPUS for target in self._of_driver(driver))]

    def _of_driver(self, name: str) -> Iterator[Target]:
        try:
            driver = runtime.get_driver(name)
            found = driver.query_available_devices()
        except RuntimeError as error:
            why = last_line(error).strip()
            # the others belong to one maker each, and most machines lack their libraries
            if name == VULKAN or "UNAVAILABLE" not in str(error):
                what = "Vulkan" if name == VULKAN else name.upper()
                log.warning_once(name, f"iree: there is no device of {what}: {why}")
            return
        for number, each in enumerate(found):
            info = driver.dump_device_info(each["device_id"])
            type = DeviceType.CPU if "type: cpu" in info.splitlines() else DeviceType.GPU
            figures = _COMPILING_IS_SLOW if type is DeviceType.CPU else PERFORMANCE[type]
            place = f"{name}://{each['path']}"
            self._options[place] = options_of(name, info)
            version = f"{self._version}, {each['name']}"
            yield Target(f"iree-{name}.{number}", place, type, version, figures)

    def declined(self, target: Target, node: Any) -> str:
        """A row of DECLINED."""
        return why_declined(DECLINED, target.name, node)

    def compiled(self, target: Target, file: File, wishes: Wishes) -> "Network":
        """A module that is kept, or is compiled in a process of its own; loaded here. If code for
        this kind of device does not load, it is code for any.
        """
        self._device(target)  # before the compiler, which takes seconds
        options, any = self._options[target.place], ANY[target.place.partition(":")[0]]
        try:
            return self._compiled(target, file.content, options, wishes)
        except (RuntimeError, ValueError) as error:
            if options == any:
                raise
            why = last_line(error).strip()
            log.warning_once(target.name, f"{target.name} gets code for any GPU: {why}")
            self._options[target.place] = any
        return self._compiled(target, file.content, any, wishes)

    def _compiled(
        self, target: Target, content: bytes, options: Sequence[str], wishes: Wishes
    ) -> "Network":
        module = self._kept(
            content, options, wishes, lambda: compiled([content], options, wishes.end_ns)
        )
        return Network(module, function_of(content), self._device(target))

    def _kept(
        self, content: bytes, options: Sequence[str], wishes: Wishes, made: Callable[[], bytes]
    ) -> bytes:
        about = [content, self._version.encode(), *map(str.encode, options)]
        return kept(wishes.cache, about, made)

    def compiled_together(self, target: Target, files: Sequence[File], wishes: Wishes) -> None:
        """As engine.TogetherEngine."""
        contents, options = [file.content for file in files], self._options[target.place]
        module = cache(lambda: compiled(contents, options, wishes.end_ns))
        for content in contents:
            self._kept(content, options, wishes, module)

    def allocated(self, target: Target, type: OperandType, dimensions: Dimensions) -> "Memory":
        """As engine.AllocatingEngine."""
        return Memory(self._device(target), _dtype(type), dimensions)

    def _device(self, target: Target) -> Any:
        with self._lock:
            if not self._devices:
                self._generation = process.generation[0]
            require_generation(self._generation, "IREE was used", "use another device")
            device = self._devices.get(target.place)
            if device is None:
                device = self._devices[target.place] = runtime.get_device(target.place)
            return device


class Network:
    """As engine.Network: a module in a context, which one thread at a time may enter."""

    def __init__(self, module: bytes, function: str, device: Any) -> None:
        context = runtime.SystemContext(config=runtime.Config(device=device))
        loaded = runtime.VmModule.copy_buffer(context.instance, module)
        context.add_vm_module(loaded)
        self._device = device
        self._context = context
        self._function = loaded.lookup_function(function)
        self._lock = Lock()

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        """As engine.Network."""
        may_be_kept = any(to is not None and to.memory is not None for to in outputs)
        given = [
            each.memory
            if isinstance(each.memory, Memory)
            else Input(self._device, _array(each), once=may_be_kept)
            for each in inputs
        ]
        return Run(self, given, [to and (to.memory or _array(to)) for to in outputs])

    def results(self, inputs: Sequence["Input | Memory"], count: int) -> Sequence[Any]:
        """Views of `count` outputs for the inputs."""
        given, made = runtime.VmVariantList(len(inputs)), runtime.VmVariantList(count)
        for each in inputs:
            given.push_ref(each.handed_over())
        with self._lock:
            self._context.vm_context.invoke(self._function, given, made)
        return [made.get_as_object(at, runtime.HalBufferView) for at in range(count)]

    def array(self, view: Any) -> Any:
        """The contents of memory of the device as an array."""
        return _copied(self._device, view)


def _copied(device: Any, view: Any) -> Any:
    """An array with the contents of memory of the device."""
    source = view.get_buffer()
    dtype = runtime.HalElementType.map_to_dtype(view.element_type)
    if not view.byte_length:
        return np.empty(view.shape, dtype)
    target = device.allocator.allocate_buffer(_MEMORY, _USAGE, source.byte_length())
    _copy(device, source, target)
    return target.map().asarray(view.shape, dtype)


def _copy(device: Any, source: Any, target: Any) -> None:
    """Copy memory of a device to other memory of it."""
    ended = device.create_semaphore(0)
    before, after = (runtime.HalFence.create_at(ended, at) for at in (0, 1))
    device.queue_copy(source, target, wait_semaphores=before, signal_semaphores=after)
    after.wait()


def _dtype(type: OperandType) -> Any:
    is_bool = type in (OperandType.BOOL, OperandType.TENSOR_BOOL8)
    return np.dtype(np.bool_ if is_bool else STRUCT_CODES[type])


def _array(buffer: Buffer) -> Any:
    """The memory of an argument as an array."""
    dtype = _dtype(buffer.type)
    count = element_count(buffer.dimensions)
    data = address.view(buffer.address, count * dtype.itemsize) if count else b""
    return np.frombuffer(data, dtype).reshape(buffer.dimensions)


class Input:
    """An argument, and the memory of the device that it is copied to.

    IREE's own ways hand memory of the program to the driver, which those of Vulkan refuse unless it
    begins with a page; and so `_copied`.
    """

    def __init__(self, device: Any, array: Any, once: bool = False) -> None:
        """once: each run takes new memory, as a result that is kept may be that of an input."""
        self._device = device
        self._array = array
        self._once = once
        self._element = runtime.array_interop.map_dtype_to_element_type(array.dtype)
        self._buffer: Any = None

    def handed_over(self) -> Any:
        """A view of the copied argument; the device sees it when the mapping has gone."""
        if self._buffer is None or self._once:
            size = max(self._array.nbytes, 1)
            self._buffer = self._device.allocator.allocate_buffer(_MEMORY, _USAGE, size)
        if self._array.size:
            given = self._array.reshape(-1).view(np.uint8)
            self._buffer.map().asarray(given.shape, given.dtype)[...] = given
        return runtime.HalBufferView(self._buffer, self._array.shape, self._element)


class Memory:
    """As engine.Memory: the memory of the last result, or copy. It is replaced and never written
    again, as a result may be the memory of an input.
    """

    def __init__(self, device: Any, dtype: Any, dimensions: Dimensions) -> None:
        self._device = device
        self._shape = dimensions
        self._size = dtype.itemsize * element_count(dimensions)
        self._element = runtime.array_interop.map_dtype_to_element_type(dtype)
        self._view: Any = None
        self.handed_over()

    def _new(self, kind: Any, usage: Any) -> Any:
        return self._device.allocator.allocate_buffer(kind, usage, self._size)

    def keep(self, buffer: Any) -> None:
        """Take what is in memory of the device."""
        self._view = runtime.HalBufferView(buffer, self._shape, self._element)

    def handed_over(self) -> Any:
        """A view of it; contents are undefined before the first write."""
        view = self._view
        if view is None:
            self.keep(self._new(runtime.MemoryType.DEVICE_LOCAL, runtime.BufferUsage.DEFAULT))
            view = self._view
        return view

    def give_up(self) -> None:
        """Release it before what takes its place is made, so that both never need room."""
        self._view = None

    def take(self, result: Any) -> None:
        """Keep a result; raises OP_FAILED if it has another size."""
        if result.byte_length != self._size:
            raise op_failed(
                f"the engine gave {result.byte_length} bytes for dimensions {list(self._shape)}, "
                f"which have {self._size}",
                "engine.output.size",
            )
        self.keep(result.get_buffer())

    def read(self, to: int, size: int) -> None:
        """As engine.Memory."""
        array = _copied(self._device, self.handed_over())
        address.copy(to, array.ctypes.data, size)

    def write(self, start: int, size: int) -> None:
        """As engine.Memory."""
        given = self._new(_MEMORY, _USAGE)
        given.map().asarray((size,), np.dtype(np.uint8))[...] = np.frombuffer(
            address.view(start, size), np.uint8
        )
        self.give_up()
        _copy(self._device, given, self.handed_over().get_buffer())


class Run:
    """As engine.Run."""

    def __init__(
        self, network: Network, inputs: Sequence[Input | Memory], outputs: Sequence[Any]
    ) -> None:
        self._network = network
        self._inputs = inputs
        self._outputs = outputs
        self._kept: dict[int, Any] = {}

    def compute(self) -> None:
        """As engine.Run."""
        self._kept = {}
        for to in self._outputs:
            if isinstance(to, Memory):
                to.give_up()
        results = self._network.results(self._inputs, len(self._outputs))
        for number, (to, result) in enumerate(zip(self._outputs, results, strict=True)):
            if to is None:
                self._kept[number] = result
            elif isinstance(to, Memory):
                to.take(result)
            else:
                to[...] = self._network.array(result)

    def stop(self) -> None:
        """IREE computes to the end; its result is dropped."""

    def output(self, number: int) -> Any:
        """As engine.Run."""
        return self._network.array(self._kept[number])
