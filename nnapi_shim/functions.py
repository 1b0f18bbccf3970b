"""What `functools` has, so that C programs do not import it: 0.5 ms and 0.15 MB."""

import sys
from collections.abc import Callable

from nnapi_shim.hints import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING or sys.version_info >= (3, 14):  # where annotations are stored differently
    from functools import lru_cache as lru_cache
    from functools import partial as partial
    from functools import wraps as wraps
else:
    from _functools import _lru_cache_wrapper
    from _functools import partial as partial

    class CacheInfo(NamedTuple):
        """How often a kept result was used, and what is kept."""

        hits: int
        misses: int
        maxsize: int
        currsize: int

    _TAKEN = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")

    def _wrapping(wrapper: Any, wrapped: Callable[..., Any]) -> Any:
        for name in _TAKEN:
            setattr(wrapper, name, getattr(wrapped, name))
        wrapper.__dict__.update(wrapped.__dict__)
        wrapper.__wrapped__ = wrapped
        return wrapper

    def wraps(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        """Makes a function look like the one that it wraps."""
        return lambda wrapper: _wrapping(wrapper, wrapped)

    def lru_cache(maxsize: int) -> Callable[..., Any]:
        """Keeps that many results of a function."""
        return lambda function: _wrapping(
            _lru_cache_wrapper(function, maxsize, False, CacheInfo), function
        )
