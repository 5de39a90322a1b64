"""What can go wrong with a corpus."""

from __future__ import annotations


class CorpusError(ValueError):
    """A corpus, or what it should be made of, is not as it must be; the message names what."""
