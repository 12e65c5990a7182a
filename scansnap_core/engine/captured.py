"""Work on a GPU that is told once, recorded, and then replayed: a step's many small calls become one.

A recording (``torch.cuda.CUDAGraph``) is the same kernels, at the same addresses, with the same numbers in their calls.
So the work must change whatever lasts in place, read no number of Python's that changes, and wait for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

WARM_UP = 3
"""Calls that are made as they are, before one is recorded, since libraries set themselves up at first (as many as
``torch.cuda.make_graphed_callables`` makes)."""

Work = Callable[[], Any]
"""What is told to a device; its results are tensors there."""


class Recorder(Protocol):
    """What records work, and replays it."""

    def warm_up(self, work: Work) -> Any:
        """Do it as it is, where a recording can follow."""

    def record(self, work: Work) -> tuple[Callable[[], object], Any]:
        """What replays it, and the tensors that its results will be written to. Nothing is computed yet."""


class CUDAGraphs:
    """Recordings by CUDA, each with memory of its own."""

    def warm_up(self, work: Work) -> Any:
        """Do it on a stream of its own, as CUDA graphs want it, after all that was told before."""
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            results = work()
        main.wait_stream(side)
        return results

    def record(self, work: Work) -> tuple[Callable[[], object], Any]:
        """Capture it in a ``torch.cuda.CUDAGraph``."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = work()
        return graph.replay, results


class Captured:
    """Calls a function of tensors a few times as it is, then records it, and from then on replays that.

    The function is given with each call, always the same one, so that its object isn't held here, which would keep both
    until Python looks for garbage. It takes tensors of the same shapes in each call and returns tensors, and what else
    it changes, it changes in place. Arguments are copied to where the recording reads them. Results lie in one place
    too: they are good until the next call.

    Parameters
    ----------
    recorder
        What records it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._calls = recorder, 0

    def __call__(self, function: Callable[..., Any], *arguments: Tensor) -> Any:
        """The function's results."""
        self._calls += 1
        if self._calls <= WARM_UP:
            return self._recorder.warm_up(lambda: function(*arguments))
        if not hasattr(self, "_replay"):  # or it was refused
            self._given = [argument.clone() for argument in arguments]
            # in inference mode CUDA's random numbers would get a state that no later capture outside it could change
            with torch.inference_mode(False), torch.no_grad():
                self._replay, self._results = self._recorder.record(lambda: function(*self._given))
        for given, argument in zip(self._given, arguments, strict=True):
            given.copy_(argument)
        self._replay()
        return self._results


def told(function: Callable[..., Any], *arguments: Tensor) -> Any:
    """The function's results, by calling it: what stands in :class:`Captured`'s place where nothing is recorded."""
    return function(*arguments)
