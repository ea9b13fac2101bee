"""A mypy plugin: what amaranth-stubs cannot say of ``Signal(shape)`` and ``Memory``, or say wrongly of ``Assume``.

The stubs give ``Signal`` a metaclass whose call returns a view of the shape. mypy takes the type of a call of a class
from the class alone, so that each signal would be a plain ``Signal``, without the fields of its layout.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.maptype import map_instance_to_supertype
from mypy.nodes import ARG_OPT, TypeInfo
from mypy.plugin import FunctionContext, FunctionSigContext, Plugin
from mypy.types import AnyType, CallableType, FunctionLike, Instance, Type, TypeOfAny, TypeType, get_proper_type

SHAPE_CASTABLE = "amaranth.hdl._ast.ShapeCastable"
ENUM = "amaranth.lib.enum.Enum"
STRUCT = "amaranth.lib.data.Struct"


class AmaranthPlugin(Plugin):
    """Hooks into the calls of two classes of Amaranth."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """The function that says what a call of ``fullname`` returns."""
        return {"amaranth.hdl._ast.Signal": self._signal, "amaranth.lib.memory.Memory": _memory}.get(fullname)

    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        """The function that says what arguments ``fullname`` takes."""
        return _property if fullname in {"amaranth.hdl._ast.Assert", "amaranth.hdl._ast.Assume"} else None

    def _signal(self, context: FunctionContext) -> Type:
        shapes = context.arg_types[0]
        return (self._view(get_proper_type(shapes[0])) if shapes else None) or context.default_return_type

    def _view(self, shape: Type) -> Type | None:
        """What a signal of this shape is seen as; None for a plain one."""
        if isinstance(shape, CallableType) and shape.is_type_obj():
            return self._view_of_class(get_proper_type(shape.ret_type))
        if isinstance(shape, TypeType):
            return self._view_of_class(shape.item)
        if isinstance(shape, Instance) and shape.type.has_base(SHAPE_CASTABLE):
            castable = next(base for base in shape.type.mro if base.fullname == SHAPE_CASTABLE)
            return map_instance_to_supertype(shape, castable).args[0]
        return shape if isinstance(shape, AnyType) else None

    def _view_of_class(self, shape: Type) -> Type | None:
        """The same of a class whose instances are of type ``shape``: an enum or a struct."""
        if isinstance(shape, Instance) and shape.type.has_base(ENUM):
            view = self.lookup_fully_qualified("amaranth.lib.enum.EnumView")
            assert view is not None and isinstance(view.node, TypeInfo), "the stubs have no EnumView"
            return Instance(view.node, [shape])
        return shape if isinstance(shape, Instance) and shape.type.has_base(STRUCT) else None


def _memory(context: FunctionContext) -> Type:
    """A memory's rows are of any type: its type variables cannot be found from a shape that is a number."""
    made = context.default_return_type
    assert isinstance(made, Instance)
    return made.copy_modified(args=[AnyType(TypeOfAny.explicit)] * len(made.args))


def _property(context: FunctionSigContext) -> FunctionLike:
    """The message may be left out, which the stubs do not know."""
    signature = context.default_signature
    kinds = [ARG_OPT if name == "message" else kind
             for name, kind in zip(signature.arg_names, signature.arg_kinds, strict=True)]
    return signature.copy_modified(arg_kinds=kinds)


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return AmaranthPlugin
