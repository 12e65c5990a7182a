"""Running text in which hidden topics decide the word after a query, for readers and machines
without a corpus.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scansnap_core.base.rules import number, takes, whole
from scansnap_core.text.corpus import EOS, UNK, Corpus

SHORTEST_GAP = 35
LONGEST_GAP = 55
"""So many filler words stand before each query: at least a context of the authors' length."""
DISTINCT_SHARE = 0.3
"""The share of distinct words among the filler."""
QUERIES_A_PASSAGE = 5


@dataclass(frozen=True, eq=False)
class TopicText:
    """Generated text and what it was generated from."""

    corpus: Corpus
    """The text, under the name ``"topics"``."""
    query: int
    """The number of the query word."""
    next_words: NDArray[np.int64]
    """The word that follows the query, by topic, shape (K,)."""
    common: NDArray[np.int64]
    """The common words, most frequent first."""
    distinct: NDArray[np.int64]
    """The distinct words by topic, most frequent first, shape (K, D)."""
    probs: NDArray[np.float64]
    """P(l|n), the probability of word l at each place before a query in a passage of topic n; shape
    (K, M).
    """


@takes(
    num_tokens=whole(),
    num_validation_tokens=whole(),
    num_topics=whole(2, example=4),
    num_common=whole(),
    num_distinct=whole(),
    exponent=number(
        least=0, says="Zipf's exponent is finite and not negative", remedy="pass e.g. 1.0"
    ),
    seed=whole(0, example=0),
)
def topic_text(
    num_tokens: int = 200_000,
    num_validation_tokens: int = 20_000,
    *,
    num_topics: int = 4,
    num_common: int = 50,
    num_distinct: int = 10,
    exponent: float = 1.0,
    seed: int = 0,
) -> TopicText:
    """Generate text whose sequence classes (Sec. 3) are known: one query word, and a next word for
    each of K topics.

    A passage has one hidden topic n, equally likely each, and ends with ``<eos>``. It is five times
    35 to 55 filler words, the query and the topic's next word. Each filler word is drawn from
    P(l|n) on its own: with probability :data:`DISTINCT_SHARE` it is one of the topic's own words,
    which no other topic has, and else a common word, with the same probabilities in all topics. So
    the 35 words before a query are filler of its own passage, and of them the distinct ones tell
    the next word and the common ones don't. Within either kind, the i-th word's probability is
    proportional to i^-exponent (Zipf's law).

    Parameters
    ----------
    num_tokens, num_validation_tokens
        The lengths of the two texts; the last passage is cut there.
    num_topics
        K, at least 2.
    num_common, num_distinct
        How many common words there are, and how many distinct words for each topic.
    exponent
        Zipf's exponent; 0 makes all words of a kind equally frequent.
    seed
        The same seed gives the same text.
    """
    words = [
        UNK,
        EOS,
        "query",
        *(f"next-{n}" for n in range(num_topics)),
        *(f"common-{i}" for i in range(num_common)),
    ]
    words += [f"distinct-{n}-{i}" for n in range(num_topics) for i in range(num_distinct)]
    next_words = 3 + np.arange(num_topics)
    common = 3 + num_topics + np.arange(num_common)
    distinct = (
        3
        + num_topics
        + num_common
        + np.arange(num_topics * num_distinct).reshape(num_topics, num_distinct)
    )
    probs = np.zeros((num_topics, len(words)))
    probs[:, common] = (1 - DISTINCT_SHARE) * _zipf(num_common, exponent)
    np.put_along_axis(probs, distinct, DISTINCT_SHARE * _zipf(num_distinct, exponent), axis=1)

    rng = np.random.default_rng(seed)
    query = words.index("query")
    eos = words.index(EOS)

    def draw(num_tokens: int) -> NDArray[np.int64]:
        """Draw a text of this length, passage after passage, as word numbers."""
        # So many passages are enough even if all gaps are the shortest.
        num_passages = -(-num_tokens // (QUERIES_A_PASSAGE * (SHORTEST_GAP + 2) + 1))
        topics = rng.integers(num_topics, size=num_passages)
        # A gap of words is followed by 2 tokens, a query and its next word; a passage's last gap is
        # followed by <eos> too.
        ends = np.tile([2] * (QUERIES_A_PASSAGE - 1) + [3], num_passages)
        gaps = rng.integers(SHORTEST_GAP, LONGEST_GAP + 1, size=len(ends))
        # Where each gap and what follows it stop, and the topic of each of them and of each place.
        stops = np.cumsum(gaps + ends)
        topic_of_stop = np.repeat(topics, QUERIES_A_PASSAGE)
        topic_of = np.repeat(topic_of_stop, gaps + ends)
        text = np.empty(stops[-1], dtype=np.int64)
        for n, row in enumerate(probs):
            places = np.flatnonzero(topic_of == n)
            text[places] = rng.choice(len(row), size=len(places), p=row)
        # Filler was drawn everywhere; these places get what belongs there.
        text[stops - ends] = query
        text[stops - ends + 1] = next_words[topic_of_stop]
        text[stops[QUERIES_A_PASSAGE - 1 :: QUERIES_A_PASSAGE] - 1] = eos
        return text[:num_tokens]

    corpus = Corpus(
        "topics",
        tuple(words),
        draw(num_tokens),
        draw(num_validation_tokens),
        "generated",
        sha256={},
    )
    return TopicText(corpus, query, next_words, common, distinct, probs)


def _zipf(count: int, exponent: float) -> NDArray[np.float64]:
    """Return probabilities proportional to i^-exponent, i = 1, ..., count."""
    weights = np.arange(1, count + 1, dtype=float) ** -exponent
    return weights / weights.sum()
