#!/usr/bin/env python3
"""Trains a policy that decides which register LLVM frees when none is left.

First it imitates LLVM's own heuristic, then evolution strategies change its weights and go where
the programs execute fewer instructions. Programs that are not named with --train are not looked at:
measure.py tells what the policy makes of those.

After every step a checkpoint is in OUTPUT.training; the same command goes on from there, and where
valgrind counts it comes to the same policy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from policy import FEATURES, as_onnx, choose, heuristic
from programs import COUNTERS, LIST, Bench, ExampleError, Program, chosen, read
from rollouts import Rollouts

from compiler_bridge import BridgeError
from compiler_bridge.commands import verify
from compiler_bridge.export import ModelError, add_metadata
from compiler_bridge.training import (
    Events,
    Evolution,
    Network,
    Point,
    State,
    imitate,
    load,
    save,
)

# Every second one; the others are for measure.py.
TRAINING = ("squeeze", "match", "query", "routes")
# Of the streams of random numbers, so that none is another's.
_BATCHES, _WEIGHTS = range(2)


@dataclass(frozen=True)
class Plan:
    """All that a result depends on, beside the compiler and the programs."""

    train: tuple[str, ...] = TRAINING
    steps: int = 16
    batch: int = 2
    pairs: int = 4
    sigma: float = 0.05
    rate: float = 0.03
    epochs: int = 600
    every: int = 4
    seed: int = 0
    hidden: tuple[int, ...] = (16, 8)


class Training:
    def __init__(
        self, rollouts: Rollouts, plan: Plan, programs: Sequence[Program], folder: Path
    ) -> None:
        self._rollouts, self._plan = rollouts, plan
        self._programs, self._folder = programs, folder

    def run(self, report: Callable[[State], None]) -> State:
        """Trains to the end, from the latest checkpoint if there is one."""
        plan = asdict(self._plan)
        state = load(self._folder, plan)
        if state is None:
            network = self._warm_start()
            state = State(network, network, network, network)
            self._look(state, 0.0)
            save(self._folder, plan, state)
        report(state)
        while state.step < self._plan.steps:
            worth = self._step(state)
            if state.step % self._plan.every == 0 or state.step == self._plan.steps:
                self._look(state, float(np.mean(worth)))
            save(self._folder, plan, state)
            report(state)
        return state

    def _warm_start(self) -> Network:
        plan = self._plan
        examples = self._rollouts.choices(heuristic, self._programs)
        seen = examples.rows[examples.allowed]
        network = Network.fresh(seen, plan.hidden, [plan.seed, _WEIGHTS], FEATURES)
        network = imitate(
            network,
            examples,
            epochs=plan.epochs,
            seed=plan.seed,
            rate=1e-2,
            dropout=0.0,
            decay=1e-3,
        )
        made = [
            choose(network, *each) for each in zip(examples.rows, examples.allowed, strict=True)
        ]
        agreed = float(np.mean(np.array(made) == examples.decisions))
        print(
            f"imitation: {len(made)} decisions, {100 * agreed:.1f} % as the heuristic",
            file=sys.stderr,
            flush=True,
        )
        return network

    def _step(self, state: State) -> list[float]:
        plan = self._plan
        chance = np.random.default_rng([plan.seed, _BATCHES, state.step])
        count = min(plan.batch, len(self._programs))
        batch = [self._programs[i] for i in sorted(chance.permutation(len(self._programs))[:count])]
        search = Evolution(
            state.network,
            plan.seed,
            plan.pairs,
            plan.sigma,
            plan.rate,
            steps=state.step,
            first=state.first,
            second=state.second,
        )
        worth = search.step(lambda tried: self._rollouts.saving(partial(choose, tried), batch))
        state.network, state.first, state.second = search.network, search.first, search.second
        state.step += 1
        return worth

    def _look(self, state: State, tried: float) -> None:
        """What the network makes of all programs of the training, by which the best is kept:
        nothing is set aside for that, there being so few."""
        saved = self._rollouts.saving(partial(choose, state.network), self._programs)
        point = Point(state.step, tried, saved, self._rollouts.compiles)
        if not state.history or saved > state.best_point.validation:
            state.best = state.network
        state.history.append(point)


class Curves:
    """A line per step on standard error, and events for TensorBoard."""

    def __init__(self, folder: Path, plan: Plan, rollouts: Rollouts) -> None:
        self._plan, self._rollouts = plan, rollouts
        self._events = Events(folder / "events")
        self._start = time.monotonic()

    def show(self, state: State) -> None:
        point, best = state.history[-1], state.best_point
        if point.step == state.step:
            self._events.add("executed/training", -100 * point.validation, point.step)
        print(
            f"step {state.step} of {self._plan.steps}: executed {percent(point.validation)} "
            f"at step {point.step}, best {percent(best.validation)} at step {best.step}; "
            f"{self._rollouts.compiles} compiles, {self._rollouts.runs} runs, "
            f"{time.monotonic() - self._start:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        self._events.close()


def percent(saving: float) -> str:
    # Nothing is neither more nor less.
    return f"{round(-100 * saving, 3) + 0.0:+.3f} %".replace("+0.000", "0.000")


def parser() -> argparse.ArgumentParser:
    assert __doc__
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    plan = Plan()
    add = found.add_argument
    add("-o", "--output", required=True, type=Path, metavar="POLICY.onnx", help="the policy")
    add("--train", default=",".join(plan.train), metavar="NAME,…", help="default: %(default)s")
    add("--programs", type=Path, default=LIST, metavar="LIST.json", help="default: those here")
    add("--counter", choices=("auto", *COUNTERS), default="auto", help="default: what works here")
    for name, kind, text in (
        ("steps", positive, "of evolution"),
        ("batch", positive, "programs per step"),
        ("pairs", positive, "changes per step, each tried in both directions"),
        ("sigma", float, "how large a change is, against the weights of its layer"),
        ("rate", float, "how far a step goes, the same way"),
        ("epochs", positive, "of imitation"),
        ("every", positive, "steps from one look at all programs to the next"),
        ("seed", int, "of all that is drawn"),
    ):
        default = getattr(plan, name)
        add(f"--{name}", type=kind, default=default, help=f"{text} (default: {default})")
    return found


def positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def train(arguments: argparse.Namespace) -> None:
    names = tuple(arguments.train.split(","))
    options = ("steps", "batch", "pairs", "sigma", "rate", "epochs", "every", "seed")
    plan = Plan(train=names, **{name: getattr(arguments, name) for name in options})
    programs = chosen(read(arguments.programs), names)
    output: Path = arguments.output
    folder = output.with_suffix(".training")
    folder.mkdir(parents=True, exist_ok=True)
    with Bench(arguments.counter) as bench:
        rollouts = Rollouts(bench, programs)
        curves = Curves(folder, plan, rollouts)
        try:
            state = Training(rollouts, plan, programs, folder).run(curves.show)
        finally:
            curves.close()
            rollouts.close()
        counter = bench.counter
    output.write_bytes(as_onnx(state.best).SerializeToString())
    add_metadata(
        output,
        name=output.stem,
        version="1",
        training_data=f"the programs {', '.join(names)} of examples/programs",
    )
    best = state.best_point
    print(
        f"wrote {output}: executed {percent(best.validation)} on the programs of the training, "
        f"counted by {counter}, after step {best.step}"
    )


def main() -> int:
    arguments = parser().parse_args()
    try:
        train(arguments)
    except (ExampleError, BridgeError, ModelError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("train.py: interrupted; the same command goes on from there", file=sys.stderr)
        return 130
    # What is asked for always has a legal answer.
    return verify.main([str(arguments.output), "--range", "mask=1:1"])


if __name__ == "__main__":
    sys.exit(main())
