"""Models out of Python: to ONNX, with what a pass must know about them, and to TFLite.

The frameworks are imported by the functions that need them.
"""

from ._jax import from_jax
from ._keras import from_keras
from ._model import add_metadata
from ._new_model import new_model
from ._operators import custom_ops_library, reference_operators, torch_translations
from ._signature import ModelError, Signature
from ._tflite import saved_model_to_tflite
from ._torch import from_torch

__all__ = [
    "ModelError",
    "Signature",
    "add_metadata",
    "custom_ops_library",
    "from_jax",
    "from_keras",
    "from_torch",
    "new_model",
    "reference_operators",
    "saved_model_to_tflite",
    "torch_translations",
]
