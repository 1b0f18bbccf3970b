"""Which devices of older versions a model is for."""

from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.drivers.versioned import compliance as versioned
from nnapi_shim.drivers.versioned.defaults import without_defaults


def compliance(model: WholeModel) -> versioned.Compliance:
    """What of a finished model HAL 1.0 and 1.1 know, and what makes the rest newer; print it.

    Inputs that say no more than their absence would count as absent: a device is shown the model
    without them.
    """
    return versioned.compliance(without_defaults(require_model(model).finished))
