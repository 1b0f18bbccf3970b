"""`@emits`: functions of kernels whose code is written with an LLVM builder."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.vector import Builder


def emits(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Turn emit(builder, *arguments) -> value into a function of kernels with this signature.

    An emitter of a function without a result returns None.
    """

    def register(emit: Callable[..., Any]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = emit(Builder.of(builder), *arguments)
            return context.get_dummy_value() if value is None else value

        def typed(typing_context: Any, *arguments: Any) -> Any:
            return signature, generate

        # numba gathers variable arguments in a tuple, so it has to see single ones.
        names = [f"argument{number}" for number in range(len(signature.args) + 1)]
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        typed.__name__, typed.__doc__ = emit.__name__, emit.__doc__
        return intrinsic(typed)

    return register


def emits_outlined(name: str, signature: Any) -> Callable[[Callable[..., None]], Any]:
    """As `emits`, for a function without a result that the compiler does not inline."""

    def register(emit: Callable[..., None]) -> Any:
        @emits(signature)
        def call(builder: Builder, *arguments: Any) -> None:
            function, is_new = builder.outlined(name, [value.type for value in arguments])
            if is_new:
                inner = Builder(function.append_basic_block("entry"))
                emit(inner, *function.args)
                inner.ret_void()
            builder.call(function, arguments)

        return call

    return register
