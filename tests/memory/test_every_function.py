"""every_function.c, which `make check-native` and valgrind run, leaves out no function."""

from tests.memory.run_sanitized import all_functions_are_called


def test_all_functions_are_called():
    all_functions_are_called()
