"""Compiles all modules of a corpus by two policies, on all cores, and runs its programs."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from .._progress import Progress
from .._workers import for_each
from ..corpus import Corpus, CorpusError, Module
from . import _cache, _decisions, _programs, _remarks, _stored
from ._cache import Cache
from ._decisions import Asked, Disagreement
from ._errors import ScoreError
from ._measure import Broken, Compiler, Measurement
from ._policy import Policy, digest
from ._programs import Bench, Outcome, Program
from ._result import Failure, Pair, ProgramPair, Score

Result = TypeVar("Result")
BASELINE, POLICY = "baseline", "policy"


@dataclass(frozen=True)
class Settings:
    jobs: int
    cache: Cache
    seed: int = 0
    metric: str = "text"
    programs: bool = True
    decisions: bool = True
    progress: Callable[[str, int], Progress] | None = None


@dataclass(frozen=True)
class _Measured:
    pair: Pair
    from_cache: bool
    decisions: tuple[Asked | None, Asked | None]


class _Blamed(Exception):  # noqa: N818 - as Broken
    """What is broken by one of the two."""

    def __init__(self, side: str, why: Broken) -> None:
        super().__init__(str(why))
        self.side = side


@contextlib.contextmanager
def _blaming(side: str) -> Iterator[None]:
    try:
        yield
    except Broken as why:
        raise _Blamed(side, why) from None


def score(
    corpus: Corpus,
    policy: Policy,
    baseline: Policy,
    compiler: Compiler,
    settings: Settings,
) -> Score:
    """Scores a policy. Whatever ends it early, no process and no file is left behind."""
    if not len(corpus):
        raise ScoreError(f"{corpus.directory}: the corpus has no modules")
    if corpus.has_thinlto and (policy.asks_a_model or baseline.asks_a_model):
        compiler = _with_opt(compiler, policy, baseline)
    programs = _programs.read(corpus) if settings.programs else []
    with tempfile.TemporaryDirectory(prefix="cbridge-score-") as folder:
        run = _Scoring(policy, baseline, compiler, settings, programs, Path(folder))
        return run.run(corpus)


def _with_opt(compiler: Compiler, policy: Policy, baseline: Policy) -> Compiler:
    """Modules of ThinLTO are optimized by opt if one of the two is a model, and then for both."""
    for each in (policy, baseline):
        if each.arguments and not each.asks_a_model:
            raise ScoreError(
                f"{each.text!r} and a model do not compare on modules of ThinLTO: opt optimizes "
                "these, since clang itself loads no pass plugins for them, and takes no arguments "
                "of clang; score either against heuristic:"
            )
    if compiler.opt is None:
        raise ScoreError(
            "a model is asked by opt if modules are of ThinLTO, and there is none beside clang; "
            "install the Debian package llvm-19"
        )
    return dataclasses.replace(compiler, by_opt=True)


class _Scoring:
    def __init__(
        self,
        policy: Policy,
        baseline: Policy,
        compiler: Compiler,
        settings: Settings,
        programs: Sequence[Program],
        folder: Path,
    ) -> None:
        self._policy, self._baseline = policy, baseline
        self._compiler, self._settings, self._cache = compiler, settings, settings.cache
        self._programs = programs
        self._bench = Bench(compiler)
        self._folder = folder
        self._fingerprint = baseline.fingerprint()
        turns = policy.takes_turns or baseline.takes_turns
        self._jobs = 1 if turns else settings.jobs
        self._recording = settings.decisions and policy.records
        self._outcomes: dict[str, tuple[str, Outcome | None]] = {}

    def run(self, corpus: Corpus) -> Score:
        result = Score(
            str(corpus.directory),
            self._policy.text,
            self._baseline.text,
            self._compiler.version,
            self._settings.seed,
            self._settings.metric,
            disagreement=Disagreement(self._baseline.is_plain) if self._recording else None,
        )
        modules = corpus.modules
        self._look_up_programs(corpus)
        for module, outcome in self._all("modules", self._module, modules):
            if isinstance(outcome, Failure):
                result.broken.append(outcome)
                continue
            result.pairs.append(outcome.pair)
            result.from_cache += outcome.from_cache
            if result.disagreement:
                result.disagreement.add(module.name, *outcome.decisions)
        if not result.pairs:
            raise ScoreError(f"no module can be compiled; {result.broken[0]}")
        compiled = {pair.module for pair in result.pairs}
        for _, run in self._all(
            "programs", lambda each: self._program(each, compiled), self._programs
        ):
            if isinstance(run, Failure):
                result.broken_programs.append(run)
            else:
                result.programs.append(run)
        if found := result.disagreement:
            found.rename(self._compiler.readable(found.symbols()))
        self._remark(result)
        return result

    def _remark(self, result: Score) -> None:
        if self._compiler.by_opt:
            result.remarks.append(
                "the modules are of ThinLTO, for which clang itself loads no pass plugins: opt "
                "optimized them, for both"
            )
        if self._compiler.opt is None:
            result.remarks.append(
                "IR instructions are not counted: there is no opt beside clang; install the Debian "
                "package llvm-19"
            )
        if self._programs and not self._bench.valgrind:
            result.remarks.append(
                "executed instructions are not counted: there is no valgrind; install the Debian "
                "package valgrind"
            )

    def _all(
        self, what: str, work: Callable[[Any], Result], items: Sequence[Any]
    ) -> Iterator[tuple[Any, Result]]:
        progress = self._settings.progress
        bar = progress(what, len(items)) if progress and items else None
        results = for_each(items, work, self._jobs, self._compiler.children, bar)
        return zip(items, results, strict=True)

    # A module.

    def _module(self, module: Module) -> _Measured | Failure:
        try:
            name = self._key(module)
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                return self._both(module, name, Path(folder))
        except (CorpusError, OSError, ValueError) as error:
            return Failure(module.name, "", _why(error).removeprefix(f"{module.name}: "))

    def _both(self, module: Module, name: str, folder: Path) -> _Measured | Failure:
        """Compiles by both; which one is first alternates, so that compile times are fair."""
        work: dict[str, Callable[[], Any]] = {
            BASELINE: lambda: self._baseline_of(module, name, folder),
            POLICY: lambda: self._compile(module, self._policy, folder, POLICY),
        }
        found, broken = {}, {}
        for side in sorted(work, reverse=bool(int(name, 16) % 2)):
            try:
                found[side] = work[side]()
            except Broken as why:
                broken[side] = str(why)
        for side in (BASELINE, POLICY):
            if side in broken:
                return Failure(module.name, side, broken[side])
        before, cached, theirs = found[BASELINE]
        after, ours = found[POLICY]
        return _Measured(Pair(module.name, before, after), cached, (theirs, ours))

    def _key(self, module: Module) -> str:
        """Of what the baseline makes of a module."""
        _check_files(module)
        index = module.thinlto_index
        return _cache.key(
            bitcode=digest(module.bitcode),
            index=digest(index) if index else None,
            command=module.command,
            clang=self._compiler.version,
            opt=self._compiler.opt is not None,
            # Only then, so that all others are as they were.
            **({"by_opt": True} if self._compiler.by_opt else {}),
            **self._fingerprint,
        )

    def _baseline_of(
        self, module: Module, name: str, folder: Path
    ) -> tuple[Measurement, bool, Asked | None]:
        reproducible = self._baseline.is_reproducible
        known = _stored.measurement(self._cache.get(name)) if reproducible else None
        recording = self._recording and self._baseline.records
        if known is not None and not self._is_linked(module.name, BASELINE):
            asked = self._cache.get_decisions(name) if recording else None
            if asked or not recording:
                return known, True, asked
        measured, asked = self._compile(module, self._baseline, folder, BASELINE)
        if reproducible and not measured.said:
            self._cache.put(name, asdict(measured))
            if asked:
                self._cache.put_decisions(name, asked)
        return measured, False, asked

    def _compile(
        self, module: Module, policy: Policy, folder: Path, side: str
    ) -> tuple[Measurement, Asked | None]:
        """Decisions are recorded in a compile of their own, since that takes time; but not those of
        a model that may decide otherwise when it is asked again."""
        logs, remarks = folder / f"{side}-log", folder / f"{side}.yaml"
        recording = self._recording and policy.records
        recorded = policy.recorded(logs)
        if recording and not policy.is_reproducible:
            measured = self._compiler.measure(module, recorded, folder, remarks)
        else:
            measured = self._compiler.measure(module, policy, folder)
            if recording:
                self._compiler.optimize(module, recorded, folder / "recorded.bc", remarks)
        if self._is_linked(module.name, side):
            place = self._object(module.name, side)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / "object.o", place)
        # What users read names the policy as they did.
        said = tuple(line.replace(recorded.text, policy.text) for line in measured.said)
        asked = _decisions.read(logs, _remarks.read(remarks)) if recording else None
        return dataclasses.replace(measured, said=said), asked

    # A program.

    def _look_up_programs(self, corpus: Corpus) -> None:
        for program in self._programs:
            name = ""
            outcome = None
            if self._baseline.is_reproducible:
                with contextlib.suppress(CorpusError, OSError, ValueError):
                    name = _cache.key(
                        modules=[self._key(corpus.module(each)) for each in program.modules],
                        program=program.fingerprint(),
                        valgrind=bool(self._bench.valgrind),
                    )
                    outcome = _stored.outcome(self._cache.get(name), len(program.runs))
            self._outcomes[program.name] = name, outcome

    def _is_linked(self, module: str, side: str) -> bool:
        """Whether a program needs the module's object."""
        return any(
            module in program.modules
            and (side == POLICY or self._outcomes[program.name][1] is None)
            for program in self._programs
        )

    def _object(self, module: str, side: str) -> Path:
        return self._folder / side / f"{module}.object"

    def _program(self, program: Program, compiled: set[str]) -> ProgramPair | Failure:
        try:
            return self._program_by_both(program, compiled)
        except (OSError, ValueError) as error:
            return Failure(program.name, "", _why(error))

    def _program_by_both(self, program: Program, compiled: set[str]) -> ProgramPair | Failure:
        for module in program.modules:
            if module not in compiled:
                return Failure(program.name, "", f"module {module} is broken")
        name, before = self._outcomes[program.name]
        try:
            if before is None:
                before = self._run(program, BASELINE)
                if name:
                    self._cache.put(name, asdict(before))
            with _blaming(BASELINE):
                _programs.check_expected(program, before)
        except _Blamed as blamed:
            return Failure(program.name, blamed.side, str(blamed))
        try:
            after = self._run(program, POLICY)
        except _Blamed as blamed:
            # By the baseline it links and ends.
            return ProgramPair(program.name, before.instructions, None, str(blamed))
        return ProgramPair(
            program.name,
            before.instructions,
            after.instructions,
            _programs.difference(before, after),
        )

    def _run(self, program: Program, side: str) -> Outcome:
        objects = [self._object(module, side) for module in program.modules]
        with _blaming(side), tempfile.TemporaryDirectory(dir=self._folder) as folder:
            return self._bench.outcome(program, objects, Path(folder))


def _check_files(module: Module) -> None:
    """To read a pipe can take for ever."""
    command = module.command_file if module.override is None else None
    for path in (module.bitcode, module.thinlto_index, command):
        if path and path.exists() and not path.is_file():
            raise CorpusError(f"{path}: is no regular file")


def _why(error: Exception) -> str:
    """What is wrong with a file, in one line."""
    if not isinstance(error, OSError) or not error.filename:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename}"
    return f"{error.filename}: {error.strerror}"
