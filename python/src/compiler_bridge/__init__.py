"""One interface between a compiler that needs a decision and a model that gives it."""

from . import log as log
from ._core import Batch, Request
from .compiler import CompilerInterface
from .errors import BridgeError, BridgeTimeout
from .pool import CompilerPool
from .runner import Runner
from .spec import TensorSpec

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BridgeError",
    "BridgeTimeout",
    "CompilerInterface",
    "CompilerPool",
    "Request",
    "Runner",
    "TensorSpec",
    "__version__",
]
