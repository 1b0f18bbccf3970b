"""The base of the enumerations: `enum.IntEnum`, or a stand-in in a program whose Python the library
started.

To import `enum` and to make the enumerations with it takes a sixth of the start of such a program.
The members of a stand-in are integers with a name, and the same objects at each use.
"""

import sys

from nnapi_shim.hints import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    from enum import IntEnum as IntEnum

_MappingProxy = type(int.__dict__)  # types.MappingProxyType, without importing types

stands_in = [False]
"""Whether enumerations that are made from now on have the stand-in."""


class _Codes(type):
    """An enumeration: a class of its members."""

    __members__: Any

    def __new__(cls, name: str, bases: Any, namespace: dict[str, Any]) -> Any:
        """Make members of the integers that the body of the class has."""
        values = {key: namespace.pop(key) for key in [*namespace] if type(namespace[key]) is int}
        members: dict[str, Any] = {}
        namespace["__members__"] = _MappingProxy(members)
        namespace["_by_value"] = by_value = {}
        made: Any = super().__new__(cls, name, bases, namespace)
        for key, value in values.items():
            members[key] = by_value[value] = member = int.__new__(made, value)
            member.name, member.value = key, value
            setattr(made, key, member)
        return made

    def __call__(cls: Any, value: object) -> Any:
        """The member that has a value."""
        try:
            return cls._by_value[value]
        except (KeyError, TypeError):
            message = f"{value!r} is not a valid {cls.__qualname__}"
        raise ValueError(message)

    def __getitem__(cls, name: str) -> Any:
        return cls.__members__[name]

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.__members__.values())

    def __len__(cls) -> int:
        return len(cls.__members__)

    def __repr__(cls) -> str:
        return f"<enum {cls.__name__!r}>"


class Codes(int, metaclass=_Codes):
    """The base of stand-ins."""

    name: str
    value: int

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self) -> str:
        if sys.version_info >= (3, 11):
            return int.__repr__(self)
        return f"{type(self).__name__}.{self.name}"

    def __reduce_ex__(self, _: object) -> Any:
        return type(self), (self.value,)


def __getattr__(name: str) -> Any:
    """IntEnum, when hal/enums.py imports it."""
    if name != "IntEnum":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if stands_in[0]:
        return Codes
    from enum import IntEnum

    return IntEnum
