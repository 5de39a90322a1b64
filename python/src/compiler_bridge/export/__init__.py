"""Models out of Python, into files that runners evaluate."""

from __future__ import annotations

from ._tflite import saved_model_to_tflite

__all__ = ["saved_model_to_tflite"]
