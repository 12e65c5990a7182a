"""Vectors of 16 numbers as Numba values: what a loop keeps in registers, said outright.

Numba leaves vectors to LLVM, which looks at run time whether arrays overlap before it uses any, and may sum in another
order where they do. Here loads, products and stores are vectors by themselves. A processor without 512-bit registers
takes two or four for one. Sums over a vector halve it four times, always in the same order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scansnap_core.extras import needs

with needs("sweeps"):
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, models, register_model

_register: Any = intrinsic  # what it makes is called without the first argument, which its annotations don't say

LANES = 16
"""Numbers of a vector."""
_CONTRACT = ("contract",)  # a processor with fused multiply-add may use it


class Vector(types.Type):
    """16 numbers of a float type."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(dmm.lookup(fe_type.dtype).get_value_type(), LANES))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(context.get_value_type(array_type.dtype), LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@_register
def load(typing: Any, array: Any, index: Any) -> Any:
    """array[index : index + 16] of a contiguous array of one dimension."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, array, *args), align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, types.intp), code


@_register
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """array[index : index + 16] = vector."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, array, *args[:2]), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), code


@_register
def splat(typing: Any, number: Any) -> Any:
    """A number 16 times."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return Vector(number)(number), code


def _splat(builder: Any, number: Any) -> Any:
    vector = ir.VectorType(number.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, cgutils.int32_t(0))
    return builder.shuffle_vector(
        one, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


@_register
def add_product(typing: Any, total: Any, a: Any, b: Any) -> Any:
    """total + a b."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(args[0], builder.fmul(args[1], args[2], flags=_CONTRACT), flags=_CONTRACT)

    return total(total, a, b), code


@_register
def product(typing: Any, a: Any, b: Any) -> Any:
    """a b."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return a(a, b), code


@_register
def plus(typing: Any, a: Any, b: Any) -> Any:
    """a + b."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return a(a, b), code


@_register
def minus(typing: Any, a: Any, b: Any) -> Any:
    """a - b."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return a(a, b), code


@_register
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of each two, b's where one is NaN."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _larger(builder, *args)

    return a(a, b), code


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _halved(builder: Any, vector: Any, joined: Any) -> Any:
    """One number of 16: its halves joined, four times."""
    size = LANES
    while size > 1:
        size //= 2
        nothing = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, nothing, ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(first, first + size)))
            )
            for first in (0, size)
        )
        vector = joined(low, high)
    return builder.extract_element(vector, cgutils.int32_t(0))


@_register
def total(typing: Any, vector: Any) -> Any:
    """The sum of the 16."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _halved(builder, args[0], builder.fadd)

    return vector.dtype(vector), code


@_register
def largest(typing: Any, vector: Any) -> Any:
    """The largest of the 16."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _halved(builder, args[0], lambda a, b: _larger(builder, a, b))

    return vector.dtype(vector), code


# (e^r - 1 - r)/r^2 for |r| <= ln(2)/2: as in the Cephes library's expf, and e^r by Taylor to r^13, whose rest is 4e-18
_SINGLE = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_DOUBLE = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
_LOG2_E = 1.4426950408889634
# of each: bits, those of the fraction, the exponent's bias, ln 2 in two parts of which n times the first is exact, and
# the least x, well inside the type's normal range: a CPU is slow on what lies below it
_FORMATS: dict[Any, tuple[int, int, int, float, float, float, tuple[float, ...]]] = {
    types.float32: (32, 23, 127, 0.693359375, -2.12194440054690583e-4, -80.0, _SINGLE),
    types.float64: (64, 52, 1023, 6.93145751953125e-1, 1.42860682030941723212e-6, -700.0, _DOUBLE),
}


@_register
def exp(typing: Any, vector: Any) -> Any:
    """e^x of each x <= 0."""
    num_bits, fraction, bias, ln_2_high, ln_2_low, lowest, polynomial = _FORMATS[vector.dtype]
    rounding = 1.5 * 2.0**fraction  # adding it rounds to an integer, held in the low bits

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (x,) = args

        def constant(value: float) -> Any:
            return ir.Constant(x.type, [ir.Constant(x.type.element, float(number(value)))] * LANES)

        def times(a: Any, b: Any, c: Any) -> Any:
            return builder.fadd(builder.fmul(a, b, flags=_CONTRACT), c, flags=_CONTRACT)

        number = np.dtype(vector.dtype.name).type
        integers = ir.VectorType(ir.IntType(num_bits), LANES)
        x = _larger(builder, constant(lowest), x)
        rounded = times(x, constant(_LOG2_E), constant(rounding))
        n = builder.fsub(rounded, constant(rounding))
        r = times(n, constant(-ln_2_low), times(n, constant(-ln_2_high), x))
        p = constant(polynomial[0])
        for coefficient in polynomial[1:]:
            p = times(p, r, constant(coefficient))
        p = builder.fadd(times(p, builder.fmul(r, r), r), constant(1))
        bits = builder.add(builder.bitcast(rounded, integers), ir.Constant(integers, [bias] * LANES))
        power = builder.shl(bits, ir.Constant(integers, [fraction] * LANES))  # the float 2^n
        return builder.fmul(p, builder.bitcast(power, x.type))

    return vector(vector), code
