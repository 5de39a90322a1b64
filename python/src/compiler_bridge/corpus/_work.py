"""Many independent pieces of work at once, most of whose time is spent in other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ._progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    return len(os.sched_getaffinity(0))


def for_each(
    title: str, items: Sequence[Item], work: Callable[[Item], Result], jobs: int
) -> Iterable[Result]:
    """Results as they come. What ends it, such as Ctrl-C, ends what has not been started, too."""
    progress = Progress(title, len(items))
    pool = ThreadPoolExecutor(jobs)
    pending: set[Future[Result]] = set()
    queue = iter(items)
    try:
        while True:
            # A queue of its own, so that little has to be cancelled.
            for item in queue:
                pending.add(pool.submit(work, item))
                if len(pending) >= 2 * jobs:
                    break
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                progress.advance()
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        progress.close()
