"""Many independent pieces of work at once, most of whose time is spent in other programs."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import FrameType
from typing import Protocol, TypeVar

from ._children import Stopped
from ._progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
# How long Ctrl-C may wait.
_ATTENTION = 0.2


class Stoppable(Protocol):
    """Processes that threads wait for: `Children`, `CompileWorkers`."""

    def stopping(self) -> contextlib.AbstractContextManager[None]:
        """Ends them, and starts no more for as long as this lasts."""


def cores() -> int:
    return len(os.sched_getaffinity(0))


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    jobs: int,
    children: Stoppable,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Works on all items, on so many threads, and gives the results in order, each as soon as those
    before it are there. Whatever ends it early, such as Ctrl-C, ends the children, too, and no
    thread is left."""
    queue = iter(enumerate(items))
    places: dict[Future[Result], int] = {}
    ready: dict[int, Result] = {}
    given = 0
    try:
        with _signals_kept() as kept, ThreadPoolExecutor(jobs) as pool:
            try:
                while given < len(items):
                    # Few are in the pool's own queue, so that little has to be cancelled.
                    for place, item in itertools.islice(queue, 2 * jobs - len(places)):
                        places[pool.submit(work, item)] = place
                    # Not for ever: a signal just before would be seen only when this returns.
                    for future in wait(places, _ATTENTION, FIRST_COMPLETED).done:
                        ready[places.pop(future)] = future.result()
                        if progress:
                            progress.advance()
                    if kept:
                        raise Stopped
                    while given in ready:
                        yield ready.pop(given)
                        given += 1
            except BaseException:
                with children.stopping():
                    pool.shutdown(cancel_futures=True)
                raise
    finally:
        if progress:
            progress.close()


@contextlib.contextmanager
def _signals_kept() -> Iterator[list[int]]:
    """Those that have come; when this ends, they do what they would have done. As an exception,
    raised wherever the main thread is, one could leave locks of the thread pool taken for ever; and
    one that ends us would leave the children."""
    kept: list[int] = []
    previous = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        previous = {n: each for n, each in handlers.items() if each not in (signal.SIG_IGN, None)}

    def keep(number: int, _: FrameType | None) -> None:
        kept.append(number)
        # Who has no patience with us sends it again.
        signal.signal(number, previous[signal.Signals(number)])

    for number in previous:
        signal.signal(number, keep)
    try:
        yield kept
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if kept:
            signal.raise_signal(kept[0])
