"""What the wrapper of a compiler does after a build's compile: keeps its bitcode in a folder.

A script that imports little, since it runs for every file. Never fails the build, never prints to
it.

    _capture.py keep STAGE DRIVER WORD...     after a compile that went well
    _capture.py retry STAGE DRIVER WORD...    after one that failed: once more, without options that
                                              clang does not know, and without -Werror

STAGE/settings has the folder that modules are named after, and arguments to add. Per source that
is compiled, STAGE gets a FILE.bc, and then a FILE.job: the name of the module, what it becomes a
part of, and cc1's arguments; or a FILE.failed: the former, and why there is no bitcode. Words in
files are separated by '\\0'. A compile of which nothing could be written leaves an empty FILE.lost.
"""

from __future__ import annotations

import os
import sys

if __package__:
    from . import _cc1, _jobs
else:
    import _cc1  # type: ignore[import-not-found, no-redef]
    import _jobs  # type: ignore[import-not-found, no-redef]


def settings(root: str, extra: list[str]) -> bytes:
    return b"\0".join(os.fsencode(word) for word in [root, *extra])


def main(arguments: list[str]) -> int:
    action, stage, driver, *words = arguments
    if action == "retry":
        return _retry(stage, driver, words)
    try:
        _keep(stage, driver, words)
    except (OSError, ValueError):
        _leave_mark(stage)
        return 1
    return 0


def _keep(stage: str, driver: str, words: list[str]) -> None:
    with open(os.path.join(stage, "settings"), "rb") as file:
        root, *extra = (os.fsdecode(word) for word in file.read().split(b"\0"))
    scratch = os.path.join(stage, f"{os.getpid()}.log")
    try:
        planned, _ = _jobs.plan(lambda each: _run([driver, *each], scratch), words + extra)
    except _jobs.DriverError as error:
        planned = []
        name = os.path.relpath(words[-1], root)
        _write(os.path.join(stage, f"{_now()}-{os.getpid()}.failed"), [name, name, str(error)])
    for number, job in enumerate(planned):
        # The order of names is that of compiles: of two, the later is what the build uses.
        stem = os.path.join(stage, f"{_now()}-{os.getpid()}-{number}")
        which = [os.path.relpath(path, root) for path in (job.name(), job.target or "-")]
        if os.path.exists(job.source) and not os.path.isfile(job.source):
            # Nobody would write to a FIFO again.
            _write(f"{stem}.failed", [*which, f"{job.source}: is no regular file"])
            continue
        command = [driver, *_cc1.to_bitcode(job.arguments, f"{stem}.bc", job.source)]
        status, printed = _run(command, scratch)
        if status == 0:
            _write(f"{stem}.job", [*which, *job.arguments])
        else:
            errors = [line for line in printed.splitlines() if "error:" in line]
            why = errors[0] if errors else f"clang ended with status {status}"
            _write(f"{stem}.failed", [*which, why])
    os.unlink(scratch)


def _leave_mark(stage: str) -> None:
    """An empty file, for which there is room on a full disk."""
    try:
        path = os.path.join(stage, f"{_now()}-{os.getpid()}.lost")
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        pass


def _retry(stage: str, driver: str, words: list[str]) -> int:
    scratch = os.path.join(stage, f"{os.getpid()}.log")
    try:
        planned, rejected = _jobs.plan(lambda each: _run([driver, *each], scratch), words)
        os.unlink(scratch)
    except (OSError, ValueError):
        return 1
    # Clang warns of other things than GCC, and of options for warnings that it does not have.
    if planned:
        rejected += [word for word in words if word.startswith(("-Werror", "-pedantic-errors"))]
    if not rejected:
        return 1
    print(f"cbridge: once more for clang, without {' '.join(rejected)}", file=sys.stderr)
    rest = [word for word in words if word not in rejected]
    status = _spawn([driver, *rest], [])
    if status == 0 and planned:
        main(["keep", stage, driver, *rest])
    return status if status >= 0 else 128 - status


def _now() -> str:
    import time

    return f"{time.time_ns():020}"


def _run(command: list[str], scratch: str) -> tuple[int, str]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    status = _spawn(
        command,
        [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, scratch, flags, 0o600),
        ],
    )
    with open(scratch, encoding="utf-8", errors="surrogateescape") as file:
        return status, file.read()


def _spawn(command: list[str], actions: list[tuple[object, ...]]) -> int:
    """As subprocess does, whose import takes longer than all the rest."""
    os.lseek(0, 0, os.SEEK_SET)  # the wrapper's: a file, or nothing; read by each that is started
    child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _write(path: str, words: list[str]) -> None:
    """Whole or not at all."""
    with open(f"{path}.tmp", "wb") as file:
        file.write(b"\0".join(os.fsencode(word) for word in words))
    os.rename(f"{path}.tmp", path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
