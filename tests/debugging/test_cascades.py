"""Refusals that follow from a refused call."""

from tests.debugging.conftest import run

FOLLOWERS = 6


def lines(done):
    assert done.returncode == 0
    return [line.removeprefix("nnapi_shim ") for line in done.stderr.splitlines()]


def test_the_first_refusal_is_named(compile_c):
    added, finished, created, follows, own = lines(run(compile_c("cascade")))
    assert "ANeuralNetworksModel_addOperation: BAD_DATA: ADD (operation 0): activation" in added
    assert "ANeuralNetworksModel_finish: BAD_DATA: the model has 3 operands and 0 ope" in finished
    assert "; the first refused call was ANeuralNetworksModel_addOperation: ADD (oper" in finished
    assert "ANeuralNetworksCompilation_create: BAD_STATE: the model is invalid" in created
    assert follows == (
        "error: ANeuralNetworksCompilation_setPreference: UNEXPECTED_NULL: compilation is NULL, "
        "because ANeuralNetworksCompilation_create was refused [handle.null]"
    )
    assert own == (
        "error: ANeuralNetworksExecution_compute: UNEXPECTED_NULL: execution is NULL [handle.null]"
    )


def test_all_followers_on_request(compile_c):
    result = lines(run(compile_c("cascade"), NNAPI_SHIM_LOG="debug"))
    root = "because ANeuralNetworksCompilation_create was refused [handle.null]"
    followers = [line for line in result if line.endswith(root)]
    assert len(followers) == FOLLOWERS + 1
    assert sum(line.startswith("debug: ") for line in followers) == FOLLOWERS
