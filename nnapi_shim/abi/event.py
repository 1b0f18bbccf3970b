"""ANeuralNetworksEvent_*: ends of asynchronous executions."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store, store_handle
from nnapi_shim.abi.tables import events
from nnapi_shim.errors import NnapiError, bad_data, op_failed


@exported
def ANeuralNetworksEvent_wait(event):
    """Return when the execution has ended, with its result code."""
    events[event].wait()
    return NO_ERROR


@exported
def ANeuralNetworksEvent_free(event):
    """Wait for the end, and let the event go."""
    item = events.remove(event)
    try:
        item.wait()
    except NnapiError:
        pass  # the outcome was for whoever waited


@exported
def ANeuralNetworksEvent_createFromSyncFenceFd(sync_fence_fd, event):
    """An event that stands for a fence."""
    not_null(event=event)
    store_handle(event, 0)
    if sync_fence_fd <= 0:
        raise bad_data(f"sync_fence_fd is {sync_fence_fd}; it must be greater than 0")
    raise op_failed("events from fences are not available in this version")


@exported
def ANeuralNetworksEvent_getSyncFenceFd(event, sync_fence_fd):
    """A file descriptor of the event's fence; events of executions have none."""
    not_null(sync_fence_fd=sync_fence_fd)
    store("int *", sync_fence_fd, -1)
    events[event]
    raise bad_data("the event has no fence")
