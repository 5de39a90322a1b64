"""Scores policies: what they make of a corpus of modules, against a baseline.

children = Children()
score = scoring.score(
    Corpus.open("validation"),
    Policy.parse("flags:-mllvm -inline-threshold=0"),
    Policy.parse("heuristic:"),
    Compiler.find("clang-19", children, timeout=300),
    Settings(jobs=4, cache=Cache(None)),
)
score.comparisons["text"].total.value  # -0.004: 0.4 % less
"""

from .._children import Children, Stopped
from ._cache import Cache, default_folder
from ._errors import ScoreError
from ._measure import Compiler
from ._policy import Policy
from ._result import METRICS, Score
from ._run import Settings, score

__all__ = [
    "METRICS",
    "Cache",
    "Children",
    "Compiler",
    "Policy",
    "Score",
    "ScoreError",
    "Settings",
    "Stopped",
    "default_folder",
    "score",
]
