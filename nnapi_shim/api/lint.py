"""lint: all errors of a model at once."""

from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.errors import NnapiError
from nnapi_shim.runtime.lint import problems


def lint(model: WholeModel) -> list[NnapiError]:
    """The errors of `finish` for an unfinished model; if there are none, the errors of a
    computation that follow from constants and known dimensions.

    They are in the order of the checks; the model is not changed. Raises BAD_STATE for a closed
    model.
    """
    return problems(require_model(model).runtime)
