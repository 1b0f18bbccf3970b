"""ANeuralNetworksBurst_*: series of executions."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store_handle
from nnapi_shim.abi.tables import bursts, compilations
from nnapi_shim.runtime.burst import Burst


@exported
def ANeuralNetworksBurst_create(compilation, burst):
    """Create a burst of a finished compilation."""
    not_null(burst=burst)
    store_handle(burst, 0)
    store_handle(burst, bursts.add(Burst(compilations[compilation])))
    return NO_ERROR


@exported
def ANeuralNetworksBurst_free(burst):
    """Free a burst."""
    bursts.remove(burst).freed()
