"""Teaches mypy about msgspec's structs what it knows of dataclasses.

`msgspec.structs.replace` is checked member by member, and structs are kept out of the functions that only dataclasses
can be given: to mypy they are one kind of class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.plugin import FunctionSigContext, Plugin
from mypy.plugins.dataclasses import replace_function_sig_callback
from mypy.types import CallableType, Instance, TypeVarType, get_proper_type

if TYPE_CHECKING:
    from collections.abc import Callable

STRUCT = "msgspec.Struct"
REPLACE = "msgspec.structs.replace"
OF_DATACLASSES = {"dataclasses.asdict", "dataclasses.astuple", "dataclasses.fields", "dataclasses.replace"}


class StructsPlugin(Plugin):
    """Looks at the calls of both kinds' functions."""

    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], CallableType] | None:
        """Return what knows how the function may be called, or None for all others."""
        if fullname == REPLACE:
            return _replace_in_struct
        if fullname in OF_DATACLASSES:
            return _for_dataclasses
        return None


def _replace_in_struct(ctx: FunctionSigContext) -> CallableType:
    return replace_function_sig_callback(ctx) if _has_struct(ctx) else ctx.default_signature


def _for_dataclasses(ctx: FunctionSigContext) -> CallableType:
    name = ctx.default_signature.name or "this"
    if _has_struct(ctx):
        ctx.api.fail(f"A struct is no dataclass; take msgspec.structs for {name}", ctx.context)
    elif name.partition(" ")[0] == "replace":
        return replace_function_sig_callback(ctx)
    return ctx.default_signature


def _has_struct(ctx: FunctionSigContext) -> bool:
    """Return whether the first argument is a struct, or a class of structs."""
    if not ctx.args or len(ctx.args[0]) != 1:
        return False
    value = get_proper_type(ctx.api.get_expression_type(ctx.args[0][0]))
    made = get_proper_type(value.ret_type if isinstance(value, CallableType) else value)
    made = get_proper_type(made.upper_bound if isinstance(made, TypeVarType) else made)
    return isinstance(made, Instance) and made.type.has_base(STRUCT)


def plugin(version: str) -> type[Plugin]:
    """Hand the plugin to mypy."""
    return StructsPlugin
