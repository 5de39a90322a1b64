#!/usr/bin/env python3
"""The agents of ThreeAgents.cpp: trained in PyTorch, written as ONNX, and played from Python.

three_agents.py train FOLDER          trains and writes select.onnx, task.onnx and colour.onnx
three_agents.py play FOLDER           lets them allocate registers, as `three_agents --greedy` does
three_agents.py compare PROGRAM       trains, then compares what three_agents, Python and PyTorch
                                      decide; PROGRAM is the compiled ThreeAgents.cpp
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from compiler_bridge import BridgeError, Runner, TensorSpec

RANGES, REGISTERS = 12, 3
COLOUR, SPILL = 0, 1
OPEN, IN_MEMORY = -1, -2

SIGNATURES = {
    "select": (
        [TensorSpec("costs", "float32", [RANGES]), TensorSpec("left", "bool", [RANGES])],
        TensorSpec("scores", "float32", [RANGES]),
    ),
    "task": (
        [TensorSpec("cost", "float32"), TensorSpec("free_registers", "int64")],
        TensorSpec("scores", "float32", [2]),
    ),
    "colour": (
        [TensorSpec("free", "bool", [REGISTERS])],
        TensorSpec("scores", "float32", [REGISTERS]),
    ),
}
# PyTorch and ONNX Runtime add in other orders: scores this near to each other are a tie.
TOLERANCE = 1e-5

Features = dict[str, np.ndarray[Any, Any]]
# The scores that an agent gives for what it sees.
Policy = Callable[[str, Features], np.ndarray[Any, Any]]


class Allocation:
    """Allocation of ThreeAgents.cpp, number for number: the same functions for the same seeds."""

    def __init__(self, seed: int) -> None:
        # std::mt19937's numbers.
        raw = iter(np.random.RandomState(seed).randint(0, 2**32, RANGES**2, np.uint32).tolist())
        self.costs = np.zeros(RANGES, np.float32)
        self.interferes = np.zeros((RANGES, RANGES), bool)
        for a in range(RANGES):
            self.costs[a] = 1 + next(raw) % 9
            for b in range(a):
                self.interferes[a, b] = self.interferes[b, a] = next(raw) % 3 == 0
        self.state = np.full(RANGES, OPEN)
        self.agent, self.current, self.reward = "select", 0, 0.0

    @property
    def done(self) -> bool:
        return not (self.state == OPEN).any()

    def free(self) -> np.ndarray[Any, Any]:
        free = np.ones(REGISTERS, bool)
        taken = self.state[self.interferes[self.current]]
        free[taken[taken >= 0]] = False
        return free

    def observe(self) -> tuple[Features, np.ndarray[Any, Any]]:
        """What the next agent sees, and what it may do."""
        if self.agent == "select":
            left = self.state == OPEN
            return {"costs": self.costs, "left": left}, left
        free = self.free()
        if self.agent == "task":
            count = np.array([free.sum()], np.int64)
            features = {
                "cost": self.costs[self.current : self.current + 1],
                "free_registers": count,
            }
            return features, np.array([free.any(), True])
        return {"free": free}, free

    def step(self, action: int) -> None:
        if self.agent == "select":
            self.current, self.agent = action, "task"
        elif self.agent == "task" and action == COLOUR:
            self.agent = "colour"
        else:
            spilled = self.agent == "task"
            self.state[self.current] = IN_MEMORY if spilled else action
            self.reward += float(self.costs[self.current]) * (-1 if spilled else 1)
            self.agent = "select"


def best(scores: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> int:
    """As an Agent in C++ takes it: of equals the first."""
    return int(np.argmax(np.where(mask, scores, -np.inf)))


class Decision(NamedTuple):
    episode: int
    step: int
    agent: str
    action: int
    scores: tuple[float, ...]

    def line(self) -> str:
        head = f"{self.episode} {self.step} {self.agent} {self.action} "
        return head + " ".join(score.hex() for score in self.scores)

    @staticmethod
    def parse(line: str) -> Decision:
        episode, step, agent, action, *scores = line.split()
        return Decision(
            int(episode), int(step), agent, int(action), tuple(map(float.fromhex, scores))
        )


class Moment(NamedTuple):
    """A decision, and what it was taken on."""

    decision: Decision
    features: Features
    mask: np.ndarray[Any, Any]


def play(
    policy: Policy, episodes: Iterable[int], done: Callable[[Allocation], None]
) -> Iterator[Moment]:
    for episode in episodes:
        world, step = Allocation(episode), 0
        while not world.done:
            features, mask = world.observe()
            scores = policy(world.agent, features)
            action = best(scores, mask)
            taken = Decision(episode, step, world.agent, action, tuple(scores.tolist()))
            yield Moment(taken, features, mask)
            world.step(action)
            step += 1
        done(world)


def heuristic(agent: str, features: Features) -> np.ndarray[Any, Any]:
    """The costliest range first; cheap ones do not get the last register; the first free one."""
    if agent == "select":
        return np.asarray(features["costs"])
    if agent == "task":
        spill = features["free_registers"][0] == 1 and features["cost"][0] <= 2
        return np.array([0, 1] if spill else [1, 0], np.float32)
    return np.array([3, 2, 1], np.float32)


def make_modules(seed: int = 0) -> dict[str, Any]:
    """Three small networks that have learnt nothing yet."""
    import torch
    from torch import nn

    class Select(nn.Module):
        """Looks at each range alone, with the same weights."""

        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

        def forward(self, costs: Any, left: Any) -> Any:
            both = torch.stack([costs / 9, left.float()], dim=-1)
            return self.score(both).squeeze(-1)

    class Task(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, cost: Any, free_registers: Any) -> Any:
            both = torch.cat([cost / 9, free_registers.float() / REGISTERS], dim=-1)
            return self.score(both)

    class Colour(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Sequential(nn.Linear(REGISTERS, 8), nn.Tanh(), nn.Linear(8, REGISTERS))

        def forward(self, free: Any) -> Any:
            return self.score(free.float())

    torch.manual_seed(seed)
    return {"select": Select().eval(), "task": Task().eval(), "colour": Colour().eval()}


def train(steps: int = 200, seed: int = 0) -> dict[str, Any]:
    """Modules that imitate the heuristic, on functions that no comparison uses."""
    import torch

    torch.set_num_threads(1)  # for so little, more would only wait for each other
    modules = make_modules(seed)
    seen: dict[str, list[Moment]] = {label: [] for label in modules}
    for moment in play(heuristic, range(100_000, 100_030), lambda _: None):
        seen[moment.decision.agent].append(moment)
    for label, module in modules.items():
        moments = seen[label]
        names = [spec.name for spec in SIGNATURES[label][0]]
        inputs = [torch.from_numpy(np.stack([m.features[n] for m in moments])) for n in names]
        mask = torch.from_numpy(np.stack([m.mask for m in moments]))
        action = torch.tensor([m.decision.action for m in moments])
        optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        for _ in range(steps):
            scores = module(*inputs).masked_fill(~mask, -torch.inf)
            loss = torch.nn.functional.cross_entropy(scores, action)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return modules


def write_models(modules: dict[str, Any], folder: Path) -> None:
    from compiler_bridge import export

    folder.mkdir(parents=True, exist_ok=True)
    for label, module in modules.items():
        inputs, outputs = SIGNATURES[label]
        export.from_torch(
            module,
            folder / f"{label}.onnx",
            inputs,
            outputs,
            name=f"three-agents-{label}",
            version="1",
            training_data="decisions of a heuristic in 30 random functions",
            license="Apache-2.0 WITH LLVM-exception",
        )


def runner_strings(folder: Path) -> list[str]:
    return [f"onnx:{folder / label}.onnx?on_error=fail" for label in SIGNATURES]


def runner_policy(folder: Path) -> Policy:
    """The models of a folder, asked as a pass would."""
    opened = zip(SIGNATURES.items(), runner_strings(folder), strict=True)
    runners = {label: Runner(text, *signature) for (label, signature), text in opened}
    return lambda agent, features: np.asarray(runners[agent].evaluate(features)["scores"])


def torch_policy(modules: dict[str, Any]) -> Policy:
    import torch

    def policy(agent: str, features: Features) -> np.ndarray[Any, Any]:
        with torch.no_grad():
            tensors = [torch.from_numpy(features[spec.name]) for spec in SIGNATURES[agent][0]]
            return np.asarray(modules[agent](*tensors))

    return policy


class Comparison(NamedTuple):
    decisions: int
    unlike_program: list[str]  # decisions that C++ and Python do not share, to the last bit
    ties: int  # whose two best allowed scores are within the tolerance
    other_at_ties: int  # of these, those at which PyTorch takes another
    unlike_torch: list[str]  # PyTorch's other decisions at no tie, or scores that are apart
    torch_error: float  # the largest difference of a score

    def summary(self) -> str:
        return (
            f"{self.decisions} decisions, {self.ties} of them ties within {TOLERANCE:g}. C++ and "
            f"Python differ in {len(self.unlike_program)}; PyTorch differs in {self.other_at_ties} "
            f"ties and in {len(self.unlike_torch)} others, its scores by at most "
            f"{self.torch_error:.2g}."
        )


class Trouble(Exception):  # noqa: N818 - not an error of the program
    """What the user can mend; one line."""


def environment() -> dict[str, str]:
    """Ours, and where this Python's ONNX Runtime lies, which the program has no other way to
    know."""
    found = importlib.util.find_spec("onnxruntime")
    if "CBRIDGE_ONNXRUNTIME" not in os.environ and found and found.origin:
        for library in Path(found.origin).parent.glob("capi/libonnxruntime.so*"):
            return {**os.environ, "CBRIDGE_ONNXRUNTIME": str(library)}
    return dict(os.environ)


def decisions_of(program: Path, folder: Path, episodes: int) -> list[Decision]:
    """What the compiled example decides with the models of a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        log = Path(temporary) / "decisions"
        words = [str(program), "--episodes", str(episodes), "--greedy", "--log", str(log)]
        done = subprocess.run(
            words + runner_strings(folder), capture_output=True, text=True, env=environment()
        )
        if done.returncode:
            why = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
            raise Trouble(f"{program}: {why.splitlines()[-1]}")
        return [Decision.parse(line) for line in log.read_text().splitlines()]


def compare(
    theirs: list[Decision], folder: Path, modules: dict[str, Any], episodes: int
) -> Comparison:
    """What C++ decided, the same models from Python, and PyTorch on what those saw."""
    asked = torch_policy(modules)
    decisions = ties = other_at_ties = 0
    unlike_program, unlike_torch, error = [], [], 0.0
    for moment in play(runner_policy(folder), range(episodes), lambda _: None):
        ours = moment.decision
        decisions += 1
        if decisions > len(theirs) or theirs[decisions - 1] != ours:
            unlike_program.append(f"Python alone: {ours.line()}")
        allowed = np.sort(np.array(ours.scores)[moment.mask])
        tie = len(allowed) > 1 and bool(allowed[-1] - allowed[-2] <= TOLERANCE)
        ties += tie
        scores = asked(ours.agent, moment.features)
        error = max(error, float(np.abs(scores - np.array(ours.scores)).max()))
        other = best(scores, moment.mask)
        if other != ours.action and tie:
            other_at_ties += 1
        elif other != ours.action:
            unlike_torch.append(f"{ours.line()}: PyTorch takes {other}")
    unlike_program += [f"C++ alone: {each.line()}" for each in theirs[decisions:]]
    if error > TOLERANCE:
        unlike_torch.append(f"scores are {error:g} apart")
    return Comparison(decisions, unlike_program, ties, other_at_ties, unlike_torch, error)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["train", "play", "compare"])
    parser.add_argument("where", type=Path, metavar="FOLDER|PROGRAM")
    parser.add_argument("--episodes", type=int, metavar="N", help="default: 5; compare: 1000")
    arguments = parser.parse_args()
    try:
        check(arguments.command, arguments.where)
        return run(arguments)
    except (Trouble, BridgeError, OSError) as error:
        print(f"three_agents.py: {error}", file=sys.stderr)
        return 2


def check(command: str, where: Path) -> None:
    """Before the training, which takes a while."""
    if command == "compare" and not (where.is_file() and os.access(where, os.X_OK)):
        raise Trouble(f"{where}: is no program; './dev build dev' makes one, in build/dev/examples")
    if command == "train" and where.exists() and not where.is_dir():
        raise Trouble(f"{where}: is no folder")
    for label in SIGNATURES if command == "play" else ():
        if not (where / f"{label}.onnx").is_file():
            raise Trouble(f"{where}: there is no {label}.onnx")


def run(arguments: argparse.Namespace) -> int:
    if arguments.command == "train":
        write_models(train(), arguments.where)
    elif arguments.command == "play":
        worlds: list[Allocation] = []
        steps = Counter(
            moment.decision.episode
            for moment in play(
                runner_policy(arguments.where), range(arguments.episodes or 5), worlds.append
            )
        )
        for i, world in enumerate(worlds):
            spills = (world.state == IN_MEMORY).sum()
            print(f"function{i}: {steps[i]} steps, {spills} spills, reward {world.reward:+.0f}")
    else:
        modules, episodes = train(), arguments.episodes or 1000
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_models(modules, folder)
            theirs = decisions_of(arguments.where, folder, episodes)
            found = compare(theirs, folder, modules, episodes)
        print(found.summary())
        for line in (found.unlike_program + found.unlike_torch)[:5]:
            print(f"  {line}")
        return 1 if found.unlike_program or found.unlike_torch else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
