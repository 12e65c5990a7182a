"""Our law says what the true gradient does: overlaps make attention drift, and memory holds it
back.

``memory`` has the law for any classes, by their ``types``; ``many_classes`` integrates it for many,
``sampled_law`` is the law at finite T, by the ``sample_means``, ``inertia`` has momentum and
``adam`` Adam, and ``order`` has what the random order of classes adds in small batches.
``predicting`` says what the law means for a class system, :func:`scansnap_core.predict`, in the
data set of ``forecast``; where sequences are too short for the law, ``drawn_texts`` trains a few
runs. ``expected_error`` says how far to trust it; ``answer`` says it in the ``sentences``, with the
``answer_numbers``; ``trials`` has the systems on which it was tried. ``closed`` has the decoder at
rest in closed form, ``phases`` says which force is the largest where, and ``equal_classes`` bounds
the error of the linear law. Clock: tau = eta_Y t/K, how often a class was seen, times eta_Y.
"""

from scansnap_core.law.closed import drift, evidence
from scansnap_core.law.memory import Errors, Law, State
from scansnap_core.law.predicting import predict
from scansnap_core.law.types import Types, types_of

__all__ = ["Errors", "Law", "State", "Types", "drift", "evidence", "predict", "types_of"]
