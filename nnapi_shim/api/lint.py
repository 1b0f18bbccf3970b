"""lint: everything that is wrong with a model at once."""

from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.errors import NnapiError
from nnapi_shim.runtime.lint import problems


def lint(model: WholeModel) -> list[NnapiError]:
    """What finish refuses, of a model that is not finished; if that is nothing, what a computation
    would refuse whatever it is given, because it follows from constants and known dimensions.

    In the order in which it would be found; the model stays as it is. Raises BAD_STATE for a model
    that is closed.
    """
    return problems(require_model(model).runtime)
