"""Our law says what the true gradient does: overlaps make attention drift, and memory holds it back.

``types`` groups classes that learn alike, ``memory`` has the law for any classes, ``many_classes`` integrates it for
many, and ``predicting`` says what it means for a class system: :func:`scansnap_core.predict`. ``validity`` tells how
far a prediction can be trusted, and ``trials`` has the systems on which that was measured. ``closed`` has the decoder
at rest in closed form, and ``equal_classes`` a bound on the error of the linear law. ``sampled_law`` is the law at
finite T, on the means over samples of ``sample_means``; ``inertia`` has momentum and Adam; ``phases`` says which force
is the largest where. Clock: tau = eta_Y t/K, how often a class was seen, times eta_Y.
"""

from scansnap_core.theory.law.closed import drift, evidence
from scansnap_core.theory.law.memory import Errors, Law, State
from scansnap_core.theory.law.predicting import predict
from scansnap_core.theory.law.types import Types, types_of

__all__ = ["Errors", "Law", "State", "Types", "drift", "evidence", "predict", "types_of"]
