"""What golden.fp promises besides the numbers: shapes, dtypes, errors, operands left alone, no warnings, speed."""

import numpy as np
import pytest

from metronome.sim.machine.golden import fp

OPERATIONS = {  # name: (number of operands, the arguments that follow them)
    "add": (2, (0,)),
    "sub": (2, (0,)),
    "mul": (2, (0,)),
    "div": (2, (0,)),
    "sqrt": (1, (0,)),
    "fma": (3, (0,)),
    "min_": (2, ()),
    "max_": (2, ()),
    "eq": (2, ()),
    "lt": (2, ()),
    "le": (2, ()),
    "classify": (1, ()),
    "to_int": (1, (0, True)),
    "from_int": (1, (0, True)),
}
ROUNDED = [name for name, (_, arguments) in OPERATIONS.items() if arguments]


def _operands(name: str, shape: tuple[int, ...], seed: int = 1) -> tuple[list, tuple]:
    count, arguments = OPERATIONS[name]
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 1 << 32, shape, dtype=np.uint32) for _ in range(count)], arguments


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_shape_is_the_flat_result(name: str) -> None:
    arrays, arguments = _operands(name, (4, 3, 5))
    operation = getattr(fp, name)
    flat = operation(*(array.ravel() for array in arrays), *arguments)
    for got, expected in zip(operation(*arrays, *arguments), flat, strict=True):
        assert got.shape == (4, 3, 5)
        np.testing.assert_array_equal(got.ravel(), expected)
    swapped = operation(*(array.transpose(2, 0, 1) for array in arrays), *arguments)
    np.testing.assert_array_equal(swapped[0], flat[0].reshape(4, 3, 5).transpose(2, 0, 1))
    for i in range(60):
        single = operation(*(array.ravel()[i].reshape(()) for array in arrays), *arguments)
        assert single[0].shape == single[1].shape == () and isinstance(single[0], np.ndarray)
        assert (single[0].dtype, single[1].dtype) == (np.uint32, np.uint8)
        assert (single[0], single[1]) == (flat[0][i], flat[1][i])
    empty = operation(*(array[:0] for array in arrays), *arguments)
    assert empty[0].shape == empty[1].shape == (0, 3, 5)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operands_are_neither_written_nor_returned(name: str) -> None:
    arrays, arguments = _operands(name, (8, 8))
    arrays[0][0, :4] = [0x7F800001, 0x7F800000, 0xBF800000, 0x80000000]
    for array in arrays:
        array.flags.writeable = False
    results = getattr(fp, name)(*arrays, *arguments)
    for result in results:
        assert result.flags.writeable and not any(np.shares_memory(result, array) for array in arrays)


@pytest.mark.parametrize("name", OPERATIONS)
def test_rejects_what_is_not_uint32(name: str) -> None:
    arrays, arguments = _operands(name, (2,))
    with pytest.raises(TypeError, match=rf"^{name}: operands must be numpy uint32, not float32$"):
        getattr(fp, name)(*(array.view(np.float32) for array in arrays), *arguments)
    with pytest.raises(TypeError, match=rf"^{name}: operands must be numpy uint32, not int$"):
        getattr(fp, name)(*(1 for _ in arrays), *arguments)


def test_rejects_different_shapes() -> None:
    with pytest.raises(ValueError, match=r"^add: operands must have one shape, not \(2,\) and \(1,\)$"):
        fp.add(np.zeros(2, np.uint32), np.zeros(1, np.uint32), 0)


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("rm", [-1, 5, 7])
def test_rejects_other_rounding_modes(name: str, rm: int) -> None:
    arrays, arguments = _operands(name, (2,))
    with pytest.raises(ValueError, match=rf"^rm must be 0\.\.4, not {rm}$"):
        getattr(fp, name)(*arrays, rm, *arguments[1:])
