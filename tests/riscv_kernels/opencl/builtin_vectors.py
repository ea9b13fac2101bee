"""The same functions of vectors: kernels that give, element by element, the words that those of scalars give."""

import re
from collections.abc import Sequence

from tests.riscv_kernels.opencl.builtin_integers import TYPES
from tests.riscv_kernels.opencl.builtin_table import Function

__all__ = ["WIDTHS", "float_source", "integer_source", "vector_call"]

WIDTHS = (2, 3, 4, 8, 16)


def _wide(call: str, width: int) -> str:
    call = call.replace("(int)(z > 0)", "z > 0").replace(", n)", ", m)")
    return re.sub(r"\bas_uint\(", f"as_uint{width}(", call)


def float_source(functions: Sequence[Function], kind: str, width: int) -> str:
    """A kernel in which a work-item takes ``width`` elements; a row of the result for each function."""
    types = {name: "int" if name == "n" else "float" for name in kind}
    buffers = ", ".join(f"__global const {types[name]} *in_{name}" for name in kind)
    loads = "\n".join(f"    const {types[name]}{width} {'m' if name == 'n' else name} = vload{width}(i, in_{name});"
                      for name in kind)
    stores = []
    for row, each in enumerate(functions):
        call = _wide(each.call, width)
        words = call if each.result == "int" else f"as_int{width}({call})"
        stores.append(f"    vstore{width}({words}, i, out + {row} * {width} * n);")
    return (f"__kernel void k({buffers}, __global int *out, uint n)\n{{\n    const uint i = get_global_id(0);\n"
            f"{loads}\n    float{width} part;\n    int{width} whole;\n" + "\n".join(stores) + "\n}\n")


def vector_call(call: str, width: int) -> str | None:
    """An integer call for vectors; None if it has another meaning for them."""
    if call.startswith(("select", "any", "all")):
        return None
    if call.startswith("convert_"):
        return re.sub(r"^(convert_(?:u?(?:char|short|int|long)|float))", rf"\g<1>{width}", call)
    return re.sub(r"\((u?(?:char|short|int|long))\)y", rf"convert_\g<1>{width}(y)", call)


def integer_source(kind: str, calls: Sequence[str], width: int) -> str:
    """A kernel of calls of x, y, z of a type (float: of x), whose results are 64-bit words."""
    names = "x" if kind == "float" else "xyz"
    element = "float" if kind == "float" else "ulong"
    loads = "\n".join(
        f"    const {kind}{width} {name} = convert_{kind}{width}(vload{width}(i, in_{name}));" for name in names)
    stores = []
    for row, call in enumerate(calls):
        wide = vector_call(call, width)
        value = f"as_uint{width}({wide})" if call.startswith("convert_float") else wide
        stores.append(f"    vstore{width}(convert_ulong{width}({value}), i, out + {row} * {width} * n);")
    buffers = ", ".join(f"__global const {element} *in_{name}" for name in names)
    assert kind == "float" or kind in TYPES
    return (f"__kernel void k({buffers}, __global ulong *out, uint n)\n{{\n    const uint i = get_global_id(0);\n"
            f"{loads}\n" + "\n".join(stores) + "\n}\n")
