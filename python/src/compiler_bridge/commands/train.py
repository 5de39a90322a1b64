"""`cbridge train`: policies for compilers, from a corpus."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._alone import alone
from .._compile_worker import WorkerError
from .._plugin import PluginMissing, find_plugin
from .._words import plural
from .._workers import cores
from ..corpus import Corpus, CorpusError, Module, levels
from ..errors import BridgeError
from ..export import ModelError, _model
from ..inlining._evaluate import CompileFailed, Evaluator
from ..training import _checkpoint
from ..training._curve import curve
from ..training._events import Events
from . import verify
from ._shared import INTERRUPTED, TROUBLE, Parser, interrupted_by_sigterm, path, positive, run

_HELP = """\
usage: cbridge train PROBLEM

Trains a policy on a corpus of modules.

  inline      which calls are inlined, for code that is small

Each has --help.
"""

_DESCRIPTION = """\
Trains a policy that makes code small. First it imitates: LLVM's heuristic, or the best decisions
that `cbridge search inline` has found (--search); or it begins where another policy is (--from).
Then it compiles modules again and again, and moves to what makes them smaller: by drawing decisions
at random (ppo) or by changing weights at random (es). The policy that is best on the validation
modules is written as ONNX, and checked with every engine.

After every step a checkpoint is in FOLDER; the same command goes on from there, and comes to the
same policy as one that was not interrupted. The learning curve is there, too, as curve.svg and for
TensorBoard.

Exit status 0 if there is a policy, 1 if engines do not agree on it, 2 if there is none, 130 if it
was interrupted."""

_EPILOG = """\
examples:
  cbridge train inline --corpus training --validation validation -o policy.onnx
  cbridge train inline --corpus mine --from inline-oz.onnx -o mine.onnx        # fine-tuning
  cbridge search inline --corpus training -o best
  cbridge train inline --corpus training --search best -o policy.onnx"""

# Levels for small code.
_SMALL = ("-Os", "-Oz")
# A module in so many is for validation, if no corpus is.
_EVERY = 5
# PyTorch has so many.
_SEEDS = 2**64
# Packages in a policy's metadata.
_MOST_NAMED = 30


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP, end="")
        return 0 if words else TROUBLE
    if words[0] != "inline":
        print(f"cbridge: train knows no problem {words[0]!r}; see --help", file=sys.stderr)
        return TROUBLE
    return run(_parser(), words[1:], _inline)


def _parser() -> Parser:
    parser = Parser("train inline", _DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("--corpus", required=True, metavar="DIR", help="modules to train on")
    add(
        "--validation",
        type=path,
        metavar="DIR",
        help=f"modules to choose the best policy by (default: each {_EVERY}th of the corpus, which "
        "is not trained on then)",
    )
    add("-o", "--output", required=True, metavar="POLICY.onnx", help="the policy")
    add(
        "--from",
        dest="start",
        type=path,
        metavar="OLD.onnx",
        help="a policy that this command has written, or models/inline-oz.onnx; with --search it "
        "imitates what has been found before it goes on",
    )
    add("--search", type=path, metavar="DIR", help="what `cbridge search inline -o DIR` has found")
    add("--method", choices=("ppo", "es"), default="ppo", help="default: %(default)s")
    add("--steps", type=positive, default=100, metavar="N", help="at most (default: %(default)s)")
    add(
        "--batch",
        type=positive,
        default=64,
        metavar="N",
        help="modules per step (default: %(default)s)",
    )
    add(
        "--pairs",
        type=positive,
        default=8,
        metavar="N",
        help="of es: changes per step, each tried in both directions (default: %(default)s)",
    )
    add(
        "--every",
        type=positive,
        default=5,
        metavar="N",
        help="steps from one validation to the next (default: %(default)s)",
    )
    add(
        "--patience",
        type=positive,
        default=10,
        metavar="N",
        help="stop after so many validations without a better one (default: %(default)s)",
    )
    add(
        "--epochs",
        type=positive,
        metavar="N",
        help="of imitation (default: 12; more if there are few examples)",
    )
    add("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
    add(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where PyTorch computes (default: %(default)s)",
    )
    add(
        "--resume",
        type=path,
        metavar="FOLDER",
        help="where checkpoints and curves are (default: POLICY.training beside the policy)",
    )
    add("-j", "--jobs", type=positive, default=cores(), metavar="N", help="compiles at a time")
    add("--clang", default="clang-19", help=argparse.SUPPRESS)
    add("--plugin", metavar="FILE.so", help="the pass plugin (default: that of this package)")
    add(
        "--timeout",
        type=positive,
        default=300,
        metavar="SECONDS",
        help="a compile that takes longer has failed (default: %(default)s)",
    )
    return parser


def _inline(arguments: argparse.Namespace) -> int:
    try:
        with interrupted_by_sigterm():
            _train(arguments)
    except (BridgeError, CompileFailed, CorpusError, PluginMissing, WorkerError) as error:
        print(f"cbridge: {error}", file=sys.stderr)
        return TROUBLE
    except KeyboardInterrupt:
        there = _checkpoint.exists(_folder(arguments))
        then = "goes on from the checkpoint" if there else "begins anew: there is no checkpoint yet"
        print(f"cbridge: interrupted; the same command {then}", file=sys.stderr)
        return INTERRUPTED
    return verify.main([arguments.output])


def _train(arguments: argparse.Namespace) -> None:
    torch = _model.require("torch", "training", "train")
    from ..training._network import Network
    from ..training._train import Plan, Training

    if not 0 <= arguments.seed < _SEEDS:
        raise ModelError(f"--seed: {arguments.seed} is not between 0 and {_SEEDS - 1}")
    device = _device(arguments.device, torch)
    output = Path(arguments.output)
    _model.destination(output)
    folder = _folder(arguments)
    start = None
    if arguments.start:
        model = _model.load(arguments.start, "training")
        try:
            start = Network.from_onnx(model)
        except ModelError as error:
            raise ModelError(f"{arguments.start}: {error}") from None
    search = Path(arguments.search) if arguments.search else None
    training, validation = _modules(arguments)
    plugin = find_plugin(arguments.plugin)
    inputs = _inputs(arguments, start, search, plugin)
    _tell_levels([*training, *validation])
    _tell_shared(training, validation)
    plan = Plan(
        method=arguments.method,
        steps=arguments.steps,
        batch=arguments.batch,
        pairs=arguments.pairs,
        seed=arguments.seed,
        epochs=arguments.epochs,
        every=arguments.every,
        patience=arguments.patience,
        device=device,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with (
        alone(folder, ModelError),
        Evaluator(plugin, arguments.jobs, arguments.clang, arguments.timeout) as evaluator,
    ):
        job = Training(
            evaluator,
            plan,
            training,
            validation,
            folder,
            start=start,
            search=search,
            inputs=inputs,
            left_out=_tell_left_out,
        )
        try:
            if job.begun is not None:
                print(f"cbridge: going on from step {job.begun}", file=sys.stderr)
            shown = f"text by {plan.method}, on {job.shown}"
            with _Curves(folder, plan.steps, shown) as curves:
                state = job.run(curves.show)
            if state.step < plan.steps:
                print(
                    f"cbridge: nothing better in {plural(plan.patience, 'validation')}: "
                    f"stopped at step {state.step} of {plan.steps}",
                    file=sys.stderr,
                )
            learned = job.learned(state)
        finally:
            job.close()
    model = state.best.as_onnx()
    data = plural(len(training), "module")
    packages = sorted({module.name.split("/")[0] for module in training if "/" in module.name})
    if 0 < len(packages) <= _MOST_NAMED:
        data += f" of {', '.join(packages)}"
    if arguments.start:
        before = _model.metadata(_model.load(arguments.start, "training"))
        name, known = before.get("cbridge.name"), before.get("cbridge.training_data")
        data += f"; before, {name or Path(arguments.start).stem}: {known or 'not known'}"
    about = {"name": output.stem, "version": "1", "training_data": data, "license": None}
    _model.write_metadata(model, _model.graph_signature(model), **about)
    _model.save(model, output)
    point = state.best_point
    print(
        f"wrote {output}: text {_percent(point.validation)} on {job.validated}, "
        f"{_percent(point.training)} on training modules, after step {point.step}"
    )
    if point.step == 0:
        print("cbridge: no step was better than its start, which this policy is", file=sys.stderr)
    if point.validation < 0:
        print(
            "cbridge: this policy makes the validation modules larger than LLVM's heuristic does: "
            f"text {_percent(point.validation)}; more modules, or --from a policy that is good, "
            "may help",
            file=sys.stderr,
        )
    if learned:
        change, pairs = learned.total, plural(learned.pairs, "module")
        interval = f" (95 % interval {_percent(-change.low)} to {_percent(-change.high)})"
        print(
            f"against its start: text {_percent(-change.value)}"
            + (f"{interval}, over {pairs}" if learned.has_interval else f", over only {pairs}")
        )


def _tell_left_out(module: Module, why: str) -> None:
    print(f"cbridge: {module.bitcode}: left out, cannot be compiled: {why}", file=sys.stderr)


def _tell_levels(modules: Sequence[Module]) -> None:
    """Code that is to be small is compiled so."""
    found = levels(modules)
    if others := {level: count for level, count in found.items() if level not in _SMALL}:
        print(
            f"cbridge: {sum(others.values())} of {len(modules)} modules are compiled at "
            f"{', '.join(sorted(others))}: what is learned there is for that level. For small "
            "code, `cbridge corpus build` and `extract` take --clang-arg=-Oz",
            file=sys.stderr,
        )


def _tell_shared(training: Sequence[Module], validation: Sequence[Module]) -> None:
    """What has been learned by heart says nothing of other code."""
    from ..training._inputs import shared

    if count := shared(training, validation):
        print(
            f"cbridge: {count} of {plural(len(validation), 'validation module')} "
            f"{'is' if count == 1 else 'are'} in the corpus, too: how good a policy is on what it "
            "has not seen cannot be told by them. `cbridge corpus fetch` and `build` take "
            "--without",
            file=sys.stderr,
        )


def _folder(arguments: argparse.Namespace) -> Path:
    """Of checkpoints and curves."""
    if arguments.resume:
        return Path(arguments.resume)
    return Path(arguments.output).with_suffix(".training")


def _device(wanted: str, torch: Any) -> str:
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise ModelError("--device: PyTorch finds no GPU for cuda here")
    return ("cuda" if there else "cpu") if wanted == "auto" else wanted


def _modules(arguments: argparse.Namespace) -> tuple[list[Module], list[Module]]:
    training = Corpus.open(arguments.corpus).modules
    if arguments.validation:
        return training, Corpus.open(arguments.validation).modules
    if len(training) < 2:
        raise ModelError(f"{arguments.corpus}: has too few modules to keep some for validation")
    kept = training[_EVERY // 2 :: _EVERY] or training[-1:]
    names = {module.name for module in kept}
    return [module for module in training if module.name not in names], kept


def _inputs(
    arguments: argparse.Namespace, start: Any, search: Path | None, plugin: Path
) -> dict[str, str]:
    """Digests of what was given, by option."""
    from ..training._inputs import of_file, of_logs, of_modules, of_network, of_version

    found = {
        "--corpus": of_modules(Corpus.open(arguments.corpus)),
        "--plugin": of_file(plugin),
        "--clang": of_version(arguments.clang),
    }
    if arguments.validation:
        found["--validation"] = of_modules(Corpus.open(arguments.validation))
    if start is not None:
        found["--from"] = of_network(start)
    if search is not None:
        found["--search"] = of_logs(search)
    return found


def _percent(saving: float) -> str:
    # Nothing is neither more nor less.
    return f"{round(-100 * saving, 2) + 0.0:+.2f} %".replace("-", "−").replace("+0.00", "0.00")  # noqa: RUF001


class _Curves:
    """A line on standard error, a curve to look at, and events for TensorBoard."""

    def __init__(self, folder: Path, steps: int, about: str) -> None:
        self._picture, self._about = folder / "curve.svg", about
        self._steps, self._start, self._first = steps, time.monotonic(), -1
        self._events = Events(folder / "events")
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> _Curves:
        return self

    def __exit__(self, *_: object) -> None:
        self._events.close()
        if self._terminal:
            print(file=sys.stderr)

    def show(self, state: Any, validated: bool) -> None:
        point, best = state.history[-1], state.best_point
        if self._first < 0:
            self._first = state.step
        if validated:
            self._events.add("text/training", -100 * point.training, point.step)
            self._events.add("text/validation", -100 * point.validation, point.step)
            self._picture.write_text(curve(state.history, self._about), encoding="utf-8")
        done = state.step - self._first
        left = ""
        if done:
            seconds = (time.monotonic() - self._start) / done * (self._steps - state.step)
            left = f", {seconds / 60:.0f} min left"
        steps = max(self._steps, state.step)
        line = (
            f"step {state.step} of {steps}: text {_percent(point.training)} training, "
            f"{_percent(point.validation)} validation, best {_percent(best.validation)} at step "
            f"{best.step}{left}"
        )
        if self._terminal:
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()
        elif validated:
            print(line, file=sys.stderr, flush=True)
