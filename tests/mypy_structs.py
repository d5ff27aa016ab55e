"""Teaches mypy about msgspec's structs what it knows of dataclasses.

`msgspec.structs.replace` is checked member by member, and structs are kept out of the functions that only dataclasses
can be given: to mypy they are one kind of class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.plugin import FunctionSigContext, Plugin
from mypy.plugins.dataclasses import replace_function_sig_callback
from mypy.types import CallableType, Instance, Type, TypeType, TypeVarType, UnionType, get_proper_type

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
    """Return whether the first argument may be a struct, or a class of structs."""
    return len(ctx.args) > 0 and len(ctx.args[0]) == 1 and _may_be(ctx.api.get_expression_type(ctx.args[0][0]))


def _may_be(value: Type) -> bool:
    match get_proper_type(value):
        case Instance() as instance:
            return instance.type.has_base(STRUCT)
        case UnionType() as union:
            return any(map(_may_be, union.items))
        case TypeVarType() as variable:
            return _may_be(variable.upper_bound)
        case TypeType() as kind:
            return _may_be(kind.item)
        case CallableType() as made:
            return _may_be(made.ret_type)
        case _:
            return False


def plugin(version: str) -> type[Plugin]:
    """Hand the plugin to mypy."""
    return StructsPlugin
