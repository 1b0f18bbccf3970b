"""MemoryDesc: the roles that memory of a device is to play."""

from nnapi_shim.errors import bad_data, bad_state


class MemoryDesc:
    """A memory descriptor. This version keeps no memory on devices, so no role can be given."""

    def __init__(self) -> None:
        self.finished = False

    def require_open(self) -> None:
        """Raise BAD_STATE after finish."""
        if self.finished:
            raise bad_state("the memory descriptor is finished; it can no longer be changed")

    def finish(self) -> None:
        """Raises BAD_DATA: a descriptor needs a role."""
        self.require_open()
        raise bad_data("the memory descriptor has no role")
