"""ANeuralNetworksExecution_*: executions of a compiled model."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import (
    argument_type,
    data_at,
    not_null,
    not_null_with_length,
    pointers,
    store,
    store_handle,
    string,
)
from nnapi_shim.abi.fast_path import publish
from nnapi_shim.abi.tables import bursts, compilations, events, executions, memories
from nnapi_shim.errors import bad_data, unexpected_null
from nnapi_shim.runtime.execution import UNKNOWN_DURATION, Execution


@exported
def ANeuralNetworksExecution_create(compilation, execution):
    """Create an execution of a finished compilation."""
    not_null(execution=execution)
    store_handle(execution, 0)
    store_handle(execution, executions.add(Execution(compilations[compilation])))
    return NO_ERROR


@exported
def ANeuralNetworksExecution_free(execution):
    """Free an execution; a run in progress continues to its end."""
    executions.remove(execution).freed()


@exported
def ANeuralNetworksExecution_setInput(execution, index, type, buffer, length):
    """Set an input to a buffer, valid until the computation ends; (NULL, 0) omits it."""
    item = executions[execution]
    if not buffer:
        not_null_with_length(buffer, length, "buffer")
    kind = argument_type(type) if type else None
    item.set_argument("input", index, kind, buffer, length)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setInputFromMemory(execution, index, type, memory, offset, length):
    """Set an input to a region of a memory object."""
    not_null(execution=execution, memory=memory)
    executions[execution].set_argument_from_memory(
        "input", index, argument_type(type), memories[memory], offset, length
    )
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setOutput(execution, index, type, buffer, length):
    """Set an output to a buffer, valid until the computation ends; (NULL, 0) omits it."""
    item = executions[execution]
    if not buffer:
        not_null_with_length(buffer, length, "buffer")
    kind = argument_type(type) if type else None
    item.set_argument("output", index, kind, buffer, length)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setOutputFromMemory(execution, index, type, memory, offset, length):
    """Set an output to a region of a memory object."""
    not_null(execution=execution, memory=memory)
    executions[execution].set_argument_from_memory(
        "output", index, argument_type(type), memories[memory], offset, length
    )
    return NO_ERROR


@exported
def ANeuralNetworksExecution_enableInputAndOutputPadding(execution, enable):
    """Allow buffers to be longer than needed; before any argument is set."""
    executions[execution].enable_input_and_output_padding(enable)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setReusable(execution, reusable):
    """Allow more than one computation, one after another."""
    executions[execution].set_reusable(reusable)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setTimeout(execution, duration):
    """Set the time limit of a computation in ns."""
    executions[execution].set_timeout(duration)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setLoopTimeout(execution, duration):
    """Set the time limit of a WHILE in ns."""
    executions[execution].set_loop_timeout(duration)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_setMeasureTiming(execution, measure):
    """Enable the measurement of durations."""
    executions[execution].set_measure_timing(measure)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_addExtensionAttribute(
    execution, extensionName, attributeCodeWithinExtension, data, length
):
    """Pass an attribute of an extension to the device."""
    not_null(execution=execution, extensionName=extensionName)
    contents = data_at(data, length)
    executions[execution].add_extension_attribute(
        string(extensionName), attributeCodeWithinExtension, contents
    )
    return NO_ERROR


@exported
def ANeuralNetworksExecution_compute(execution):
    """Run it synchronously."""
    item = executions[execution]
    item.compute()
    publish(execution, item)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_burstCompute(execution, burst):
    """Run it synchronously in a burst."""
    not_null(execution=execution, burst=burst)
    series = bursts[burst]
    item = executions[execution]
    series.compute(item)
    publish(execution, item)
    publish(burst, series)
    return NO_ERROR


@exported
def ANeuralNetworksExecution_startCompute(execution, event):
    """Start it and return at once; the event is signalled at the end."""
    not_null(event=event)
    store_handle(event, 0)
    store_handle(event, events.add(executions[execution].start_compute()))
    return NO_ERROR


@exported
def ANeuralNetworksExecution_startComputeWithDependencies(
    execution, dependencies, num_dependencies, duration, event
):
    """Run it after other executions and fences; it has run when this call returns.

    The execution is completed by a wait for the event, or its release.
    """
    not_null(event=event)
    store_handle(event, 0)
    not_null(execution=execution)
    not_null_with_length(dependencies, num_dependencies, "dependencies")
    item = executions[execution]
    waited_for = []
    for at, handle in enumerate(pointers(dependencies, num_dependencies)):
        if not handle:
            raise unexpected_null(
                f"dependency {at} of the list is NULL",
                "execution.start-compute-with-dependencies.null-event",
            )
        waited_for.append(events[handle])
    store_handle(event, events.add(item.start_compute_with_dependencies(waited_for, duration)))
    return NO_ERROR


@exported
def ANeuralNetworksExecution_getOutputOperandRank(execution, index, rank):
    """Rank of an output after the computation."""
    not_null(execution=execution, rank=rank)
    dimensions, shortage = executions[execution].output_dimensions(index)
    store("uint32_t *", rank, len(dimensions))
    if shortage is not None:
        raise shortage
    return NO_ERROR


@exported
def ANeuralNetworksExecution_getOutputOperandDimensions(execution, index, dimensions):
    """Dimensions of an output after the computation."""
    not_null(execution=execution, dimensions=dimensions)
    item = executions[execution]
    sizes, shortage = item.output_dimensions(index)
    if not sizes:
        raise bad_data(
            f"output {index} is a scalar; it has no dimensions",
            "execution.output-dimensions.scalar",
        )
    for position, size in enumerate(sizes):
        store("uint32_t *", dimensions + 4 * position, size)
    if shortage is not None:
        raise shortage
    return NO_ERROR


@exported
def ANeuralNetworksExecution_getDuration(execution, durationCode, duration):
    """A duration of the last computation, in ns."""
    not_null(execution=execution, duration=duration)
    store("uint64_t *", duration, UNKNOWN_DURATION)
    store("uint64_t *", duration, executions[execution].duration(durationCode))
    return NO_ERROR
