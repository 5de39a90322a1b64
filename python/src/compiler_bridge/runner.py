"""The compiler's end, for programs in Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._closing import Closing
from .errors import BridgeError
from .spec import TensorSpec, raw_specs

T = TypeVar("T")


class Runner(Closing):
    """A model opened from a runner string, asked from Python.

        runner = Runner("constant:4", [TensorSpec("trip_count", "int64")],
                        TensorSpec("unroll", "int64"))
        runner.evaluate({"trip_count": 128})["unroll"].item()

    A model that knows what it takes and gives, as those of `onnx:`, `native:`, `tflite:` and `tf:`
    do, needs no specs: `Runner("onnx:policy.onnx")`, see `inputs` and `outputs`.

    Features are 0 at first and keep their values between calls. One thread at a time. That the
    model was left for the heuristic, or that decisions cannot be recorded, is a warning of the
    logger `compiler_bridge`, once.
    """

    def __init__(
        self,
        runner: str,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | TensorSpec | None = None,
    ) -> None:
        if (inputs is None) != (outputs is None):
            raise TypeError("give both inputs and outputs, or neither")
        raw_in, raw_out = (
            _core.describe(runner) if inputs is None else (raw_specs(inputs), raw_specs(outputs))
        )
        self._inputs = [TensorSpec.from_raw(raw) for raw in raw_in]
        self._outputs = [TensorSpec.from_raw(raw) for raw in raw_out]
        self._runner: _core.Runner | None = _core.Runner(runner, raw_in, raw_out)

    @property
    def inputs(self) -> list[TensorSpec]:
        """The features: as given, or what the model takes."""
        return self._inputs

    @property
    def outputs(self) -> list[TensorSpec]:
        """The decision's parts: as given, or all that the model gives."""
        return self._outputs

    def close(self) -> None:
        """Ends the session with the model."""
        self._runner = None

    @property
    def _open(self) -> _core.Runner:
        if self._runner is None:
            raise ValueError("the runner is closed")
        return self._runner

    def populate_features(self, features: Mapping[str, Any]) -> None:
        """Sets features by name: numbers, str, arrays, lists."""
        self._open.populate_features(dict(features))

    def get_tensor(self, name: str) -> np.ndarray[Any, Any]:
        """A fixed feature in place: what is written there is sent."""
        return self._open.get_tensor(name)

    def evaluate(self, features: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The decision by name: NumPy arrays, or lists of str."""
        if features:
            self.populate_features(features)
        return self._open.evaluate()

    def evaluate_or(
        self, features: Mapping[str, Any] | None, heuristic: Callable[[], T]
    ) -> dict[str, Any] | T:
        """The decision, or the heuristic's if the model has none.

        With `record=` the heuristic's is recorded if it is a mapping of names to values, or the
        value itself where there is one output.
        """
        try:
            return self.evaluate(features)
        except BridgeError:
            taken = heuristic()
            self._note(taken)
            return taken

    def _note(self, taken: Any) -> None:
        values = taken if isinstance(taken, Mapping) else {self.outputs[0].name: taken}
        # What the outputs cannot hold is not recorded, as in C++.
        with contextlib.suppress(BridgeError, ValueError, KeyError, TypeError):
            self._open.note_fallback(dict(values))

    def switch_context(self, name: str) -> None:
        """Names what is being compiled."""
        self._open.switch_context(name)

    def reward(self, value: float) -> None:
        """Tells, once, how good the latest decision turned out to be."""
        self._open.reward(value)

    def end_episode(self) -> None:
        """The decisions so far belong together and are over."""
        self._open.end_episode()

    def set_mask(self, mask: Sequence[bool], output: int = 0) -> None:
        """Decisions must be indices at which the mask is true; an empty one allows all."""
        self._open.set_mask(mask, output)

    def set_range(self, low: float, high: float, output: int = 0) -> None:
        """Decisions must lie in [low, high]."""
        self._open.set_range(low, high, output)

    @property
    def why_not(self) -> str | None:
        """Why the model does not decide; None while it does."""
        return self._open.why_not
