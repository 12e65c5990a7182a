"""What a CUDA graph does with recorded work, done where there is no GPU.

A tape holds the calls that work makes to PyTorch's kernels, with the very tensors and numbers of each. To replay it is
to make the same calls again and to write what they give into the tensors that the recorded calls gave. So a number that
Python worked out stays what it was, and a tensor that the work bound anew is read where it was, as on a GPU.
Recording computes nothing there: here what it changed is put back, and what it made is spoilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from scansnap_core.engine.captured import Work

WAITS = torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape
aten = torch.ops.aten


class CannotBeRecorded(Exception):
    """What a capture by CUDA would refuse, or would replay wrongly."""


class Tape(TorchDispatchMode):
    """The calls of one piece of work, outside inference mode: within it PyTorch doesn't tell which calls give views."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[Any, Any, Any, Any]] = []
        self._before: list[tuple[Tensor, Tensor]] = []

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self._before += [(tensor, tensor.clone()) for tensor in written(function, args, kwargs)]
        check_recordable(function, args, kwargs)
        results = function(*args, **kwargs)
        check_one_place((args, kwargs, results))
        self._calls.append((function, args, kwargs, results))
        return results

    def rewind(self) -> None:
        """Undo what was recorded, and spoil what it made."""
        for tensor, before in reversed(self._before):
            tensor.copy_(before)
        for function, *_, results in self._calls:
            for made in tensors(results) if makes(function) else ():
                made.fill_(torch.nan if made.is_floating_point() else -(2**30))

    def replay(self) -> None:
        """Make the same calls, and leave their results where the recorded ones lie."""
        for function, args, kwargs, results in self._calls:
            again = function(*args, **kwargs)
            if makes(function):
                for place, value in zip(tensors(results), tensors(again), strict=True):
                    place.copy_(value)


class Tapes:
    """Records as :class:`scansnap_core.engine.captured.CUDAGraphs` does."""

    def __init__(self) -> None:
        self.recorded = 0

    def warm_up(self, work: Work) -> Any:
        return work()

    def record(self, work: Work) -> tuple[Callable[[], object], Any]:
        self.recorded += 1
        tape = Tape()
        with tape:
            results = work()
        tape.rewind()
        return tape.replay, results


def tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def makes(function: Any) -> bool:
    """Whether results are new, and neither views nor what was given."""
    return not any(result.alias_info for result in function._schema.returns)


def written(function: Any, args: Any, kwargs: Any) -> Iterator[Tensor]:
    """The given tensors that a call writes to."""
    for place, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from tensors(args[place] if place < len(args) else kwargs.get(argument.name))


def check_recordable(function: Any, args: Any, kwargs: Any) -> None:
    """Refuse what waits for the device's answer, what takes numbers of the host's, and common random numbers."""
    masks = [given for given in tensors(args[1:2]) if given.dtype in (torch.bool, torch.uint8)]
    by_index = function.overloadpacket in (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_)
    if masks if by_index else any(tag in function.tags for tag in WAITS):
        raise CannotBeRecorded(f"{function} waits for what the device answers")
    if function is aten.lift_fresh.default:
        raise CannotBeRecorded("a tensor is made of the host's numbers")
    if torch.Tag.nondeterministic_seeded in function.tags:
        raise CannotBeRecorded(f"{function} draws from a generator")


def check_one_place(tree: Any) -> None:
    """Refuse tensors on two devices in one call."""
    devices = {tensor.device.type for tensor in tensors(tree)}
    if len(devices) > 1:
        raise CannotBeRecorded(f"a call concerns {' and '.join(sorted(devices))}")
