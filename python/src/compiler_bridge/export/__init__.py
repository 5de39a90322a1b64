"""Models out of Python: to ONNX, with what a pass must know about them.

The frameworks are imported by the functions that need them.
"""

from ._model import add_metadata
from ._new_model import new_model
from ._signature import ModelError, Signature

__all__ = ["ModelError", "Signature", "add_metadata", "new_model"]
