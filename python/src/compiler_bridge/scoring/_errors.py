"""What makes scoring impossible."""

from __future__ import annotations


class ScoreError(Exception):
    """One line that names what is wrong."""
