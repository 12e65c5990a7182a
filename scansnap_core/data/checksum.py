"""What tells two class systems apart."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from scansnap_core.data.sequences import SequenceClasses

ATTRIBUTE = "classes"
"""The attribute by which recorded attention logits tell of which classes they are: their :func:`checksum`."""


def checksum(classes: SequenceClasses) -> str:
    """What two class systems share only if they are equal.

    Examples
    --------
    >>> from scansnap_core.data.checksum import checksum
    >>> from scansnap_core.data.datasets import syn_medium, syn_small
    >>> checksum(syn_small()) == checksum(syn_small()), checksum(syn_small()) == checksum(syn_medium(1))
    (True, False)
    """
    compact = classes.compact
    parts = (compact.tokens, compact.probs, classes.query_of, classes.next_of, [classes.vocab_size])
    numbers = b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)
    names = json.dumps([classes.token_names, classes.class_names]).encode() if classes.class_names else b""
    frequencies = b"" if classes.is_uniform else classes.frequencies.tobytes()
    return hashlib.sha256(numbers + names + frequencies).hexdigest()
