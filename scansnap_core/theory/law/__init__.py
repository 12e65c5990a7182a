"""What the true gradient does: the drift that overlaps make, and the memory that holds attention back.

``closed`` has the decoder at rest in closed form, ``before_crossing`` one formula of it with its error, ``memory`` the
law for any classes, ``bounds`` how far its linear form can be off for those of ``alike``, and ``predicting`` what it
says of a class system: :func:`scansnap_core.predict`. ``sampling`` is the law at finite T, on the exact means of
``counts`` and the weighed ones of ``first_order``, ``inertia`` that of momentum, ``adam`` Adam's flow, and ``phases``
says which force is the largest where. Clock: tau = eta_Y t/K, how often a class was seen, times eta_Y.
"""

from scansnap_core.theory.law.closed import drift, evidence
from scansnap_core.theory.law.memory import Errors, Law, State
from scansnap_core.theory.law.predicting import predict
from scansnap_core.theory.law.types import Types, types_of

__all__ = ["Errors", "Law", "State", "Types", "drift", "evidence", "predict", "types_of"]
