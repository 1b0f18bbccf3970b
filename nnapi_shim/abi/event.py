"""ANeuralNetworksEvent_*: completion of asynchronous executions, and sync fences."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store, store_handle
from nnapi_shim.abi.tables import events
from nnapi_shim.runtime.event import FenceEvent


@exported
def ANeuralNetworksEvent_wait(event):
    """Wait for the end of the execution, and return its result; or for the signal of the fence."""
    events[event].wait()
    return NO_ERROR


@exported
def ANeuralNetworksEvent_free(event):
    """Wait for the end, and free the event."""
    events.remove(event).wait_for_end()  # only a wait reports the outcome


@exported
def ANeuralNetworksEvent_createFromSyncFenceFd(sync_fence_fd, event):
    """Create an event of a sync fence: a file descriptor that becomes readable."""
    not_null(event=event)
    store_handle(event, 0)
    store_handle(event, events.add(FenceEvent(sync_fence_fd)))
    return NO_ERROR


@exported
def ANeuralNetworksEvent_getSyncFenceFd(event, sync_fence_fd):
    """A new file descriptor of the event's fence; events of executions have none."""
    not_null(sync_fence_fd=sync_fence_fd)
    store("int *", sync_fence_fd, -1)
    store("int *", sync_fence_fd, events[event].duplicated_fence())
    return NO_ERROR
