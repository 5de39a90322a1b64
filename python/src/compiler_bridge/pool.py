"""The model's end for many compilers at once."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from urllib.parse import quote

from . import _core
from ._closing import Served
from ._core import Batch
from ._scratch import Scratch
from .compiler import serving
from .spec import TensorSpec, raw_specs


class CompilerPool(Served):
    """Serves any number of compilers and hands over their questions in batches.

        with CompilerPool(8) as pool:  # or CompilerPool(["shm:a", "pipe:/x/b"])
            start_compilers(pool.addresses)
            for batch in pool:
                batch.reply({"action": policy(batch["embedding"])})   # (n, …) in, (n, …) out

    `workers`: how many addresses to make, in a directory of its own, or the addresses themselves.
    Worker number `i` is the one that asks at `addresses[i]`. `scheme`: what those addresses are.

    A batch holds the questions that are there, all of one signature; compilers with different
    signatures come in batches of their own. Features of fixed shape are arrays with one row per
    question, others are lists. `batch.ended` has the ends of episodes (see CompilerInterface) since
    the last batch; a batch may have nothing else, and then has length 0. A compiler that dies ends
    its own episode (`truncated`) and nothing else.

    `linger`: wait so many seconds for more questions after the first. `max_batch`: at most so many.
    The other options are those of CompilerInterface.
    """

    def __init__(
        self,
        workers: int | Sequence[str] = 1,
        *,
        scheme: str = "shm",
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | TensorSpec | None = None,
        sessions: int = 0,
        max_message: int = 1 << 30,
        copy: bool = True,
        linger: float = 0.0,
        max_batch: int = 0,
    ) -> None:
        if isinstance(workers, str):
            raise TypeError("addresses are a list; for one address write [address]")
        if not linger >= 0 or max_batch < 0:
            raise ValueError("linger and max_batch cannot be negative")
        self._remove_directory: Callable[[], object] = lambda: None
        if isinstance(workers, int):
            if workers < 1:
                raise ValueError(f"a pool needs workers, not {workers}")
            folder = Scratch("cbridge-pool-")
            self._remove_directory = weakref.finalize(self, folder.close)
            workers = [f"{scheme}:{quote(str(folder.path))}/{i}" for i in range(workers)]
        elif not workers:
            raise ValueError("a pool needs addresses")
        self._linger = linger
        self._max_batch = max_batch
        self._batches: deque[Batch] = deque()
        try:
            super().__init__(
                list(workers),
                raw_specs(inputs),
                raw_specs(outputs),
                sessions,
                max_message,
                copy,
            )
        except BaseException:
            self._remove_directory()
            raise
        serving.add(self)

    def __iter__(self) -> CompilerPool:  # type: ignore[override]
        return self

    def __next__(self) -> Batch:  # type: ignore[override]
        batch = self.next(None)
        if batch is None:
            raise StopIteration
        return batch

    def next(self, timeout: float | None = None) -> Batch | None:  # type: ignore[override]
        """The next batch, or None if there will be no more; BridgeTimeout after so many seconds."""
        if not self._batches:
            self._batches.extend(_core.next_batches(self, timeout, self._linger, self._max_batch))
        try:
            return self._batches.popleft()
        except IndexError:  # also if another thread has closed it
            return None

    def close(self) -> None:
        """Stops serving and removes what was made. Any thread may call it."""
        super().close()
        self._batches.clear()
        self._remove_directory()
