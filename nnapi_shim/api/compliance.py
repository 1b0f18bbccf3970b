"""The HAL versions that can run a model."""

from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.drivers.versioned import compliance as versioned
from nnapi_shim.drivers.versioned.defaults import without_defaults


def compliance(model: WholeModel) -> versioned.Compliance:
    """Which parts of a finished model HAL 1.0 and 1.1 support, and what requires a newer version;
    printable.

    Inputs with default values count as absent: a device receives the model without them.
    """
    return versioned.compliance(without_defaults(require_model(model).finished))
