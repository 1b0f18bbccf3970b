"""Stand-ins for names of `typing` and `collections.abc`, so that C programs do not import them.

Importing `typing` and its dependencies takes 6 ms and 1 MB, `collections` 1 ms and 0.4 MB. The
stand-ins do nothing at run time, except NamedTuple, which creates equivalent classes faster; what
inherits from a class of `collections.abc` imports that itself. Python 3.14 stores annotations
differently; there, the names are the usual ones.
"""

import sys

TYPE_CHECKING = False

if TYPE_CHECKING or sys.version_info >= (3, 14):
    from collections.abc import Callable as Callable
    from collections.abc import Collection as Collection
    from collections.abc import Container as Container
    from collections.abc import Generator as Generator
    from collections.abc import Iterable as Iterable
    from collections.abc import Iterator as Iterator
    from collections.abc import Mapping as Mapping
    from collections.abc import Sequence as Sequence
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
    from typing import cast as cast
else:
    from _collections import _tuplegetter

    Any = BinaryIO = Protocol = object

    class Generic:
        """A class that takes parameters: `Generic[Item]`."""

        def __class_getitem__(cls, _):
            return cls

    Callable = Collection = Container = Generator = Generic
    Iterable = Iterator = Mapping = Sequence = Generic

    def TypeVar(*_, **__):  # noqa: N802 - as in typing
        """A placeholder for a type variable."""
        return object

    def cast(_, value):
        """The value, unchanged."""
        return value

    _tuple = tuple.__new__
    _MAKERS = (
        lambda _cls: _tuple(_cls, ()),
        lambda _cls, a: _tuple(_cls, (a,)),
        lambda _cls, a, b: _tuple(_cls, (a, b)),
        lambda _cls, a, b, c: _tuple(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _tuple(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _tuple(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _tuple(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _tuple(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _tuple(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _tuple(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _tuple(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _tuple(
            _cls, (a, b, c, d, e, f, g, h, i, j, k)
        ),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _tuple(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m)
        ),
    )
    """Constructors by number of fields; each class gets a copy with the names of its fields."""
    _Function = type(_MAKERS[0])

    class _Named(tuple):
        """The methods of `collections.namedtuple` classes."""

        __slots__ = ()
        _fields: tuple[str, ...] = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **changed):
            copy = type(self)(*map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"there are no fields {[*changed]}")
            return copy

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

    class _NamedTuples(type):
        def __new__(cls, name, bases, namespace):
            """Create a class in a tenth of the time of namedtuple, which compiles code."""
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = tuple(namespace["__annotations__"])
            defaults = tuple([namespace.pop(field) for field in fields if field in namespace])
            if len(fields) < len(_MAKERS):
                code = _MAKERS[len(fields)].__code__.replace(co_varnames=("_cls", *fields))
            else:
                listed = ", ".join(fields)
                code = eval(f"lambda _cls, {listed}: _tuple(_cls, ({listed}))").__code__
            new = _Function(code, globals(), "__new__", defaults)
            new.__qualname__ = f"{name}.__new__"
            members = {"__slots__": (), "_fields": fields, "__match_args__": fields}
            members |= {field: _tuplegetter(at, None) for at, field in enumerate(fields)}
            return type(name, (_Named,), {"__new__": new} | members | namespace)

    class NamedTuple(metaclass=_NamedTuples):
        """A tuple with named fields."""
