"""Words for type checkers, as in `typing`, which programs need not load for them.

`typing` is the dearest import of all that a C program has: with what it imports itself it takes
6 ms and a megabyte. So the names are found here, and mean next to nothing when a program runs;
NamedTuple alone makes what its namesake makes. Python 3.14 keeps annotations another way: there
they are those of `typing`.
"""

import sys

TYPE_CHECKING = False

if TYPE_CHECKING or sys.version_info >= (3, 14):
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
    from typing import cast as cast
else:
    from collections import namedtuple

    Any = BinaryIO = Protocol = object

    class Generic:
        """A class that takes parameters: `Generic[Item]`."""

        def __class_getitem__(cls, _):
            return cls

    def TypeVar(*_, **__):  # noqa: N802 - as in typing
        """What stands for a type."""
        return object

    def cast(_, value):
        """The value, which a type checker takes for one of another type."""
        return value

    class _NamedTuples(type):
        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace["__annotations__"]
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])
            for key, value in namespace.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTuples):
        """A tuple with names for what it holds."""
