"""Searches over a world whose sizes are known, without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import log
from compiler_bridge._compile_worker import Compiled
from compiler_bridge.corpus import Module
from compiler_bridge.inlining._corpus import log_name
from compiler_bridge.inlining._evaluate import (
    CALLEE,
    CALLER,
    DECISION,
    KEYS,
    CompileFailed,
    Evaluation,
)
from compiler_bridge.inlining._search import (
    Found,
    HillClimbing,
    RandomFlips,
    majority,
    unanimous,
    write_log,
)

TESTS = str(Path(__file__).parents[1])
MODULE = Module("a/b.o", Path("b.bc"), None, ())


def evaluation(decided, functions, more=0):
    """Of a list of pairs and their decisions."""
    count = len(decided)
    asked = log.Log(
        KEYS,
        (DECISION,),
        {CALLER: [[pair[0]] for pair, _ in decided], CALLEE: [[pair[1]] for pair, _ in decided]},
        {DECISION.name: np.array([[value] for _, value in decided], np.int64).reshape(-1, 1)},
        np.full(count, np.nan),
        np.arange(count),
        np.zeros(count, np.int64),
        ["b.bc"],
        [],
        [],
    )
    text = sum(functions.values())
    return Evaluation(Compiled(text, text + more, functions), asked)


class World:
    """Functions of 100 bytes each. Inlining a pair adds its `costs` to the caller, and a function
    of `local` that is inlined into all of its callers is gone. LLVM inlines what `default` says."""

    def __init__(self, costs, local=(), default=None, table=None):
        self.costs, self.local, self.default = costs, local, default or {}
        self.table = table or {}
        self.count = 0
        self.broken = set()

    def heuristic(self, module, features=()):
        return self.decided(module, {}, features)

    def decided(self, module, decisions, features):
        self.count += 1
        if self.broken & set(decisions.items()):
            raise CompileFailed("it is broken")
        now = {pair: decisions.get(pair, self.default.get(pair, 0)) for pair in self.costs}
        functions = {name: 100 for pair in self.costs for name in pair}
        for (caller, callee), inlined in now.items():
            functions[caller] += self.costs[caller, callee] * inlined
        for name in self.local:
            if all(inlined for pair, inlined in now.items() if pair[1] == name):
                del functions[name]
        more = sum(self.table.get(pair, 0) * inlined for pair, inlined in now.items())
        return evaluation(list(now.items()), functions, more)


def climb(world, budget=45, metric="text", seed=0, start=None):
    found = HillClimbing(world, [], budget, seed, metric).search(MODULE, start)
    assert found.evaluations == world.count <= budget
    return found


def star(count):
    """Pairs that touch nothing else."""
    return {(f"caller{i}", f"callee{i}"): -5 if i % 2 else 7 for i in range(count)}


def test_what_does_not_touch_is_tried_at_once():
    found = climb(World(star(40)), budget=6)
    assert found.baseline.text == 8000
    assert found.best.text == 8000 - 20 * 5
    inlined = {pair for pair, value in majority(found.best).items() if value}
    assert inlined == {(f"caller{i}", f"callee{i}") for i in range(1, 40, 2)}


def test_from_the_other_side():
    pairs = star(10)
    found = climb(World(pairs, default=dict.fromkeys(pairs, 1)))
    assert found.best.text == 2000 - 5 * 5


def test_a_function_that_must_be_inlined_everywhere_to_vanish():
    """Each single step makes the module larger; another pair keeps all from being best."""
    costs = {(f"caller{i}", "callee"): 20 for i in range(4)}
    costs["caller0", "other"] = 50
    world = World(costs, local=["callee"])
    found = climb(world)
    assert found.best.text == found.baseline.text + 4 * 20 - 100
    assert "callee" not in found.best.compiled.functions


def test_decisions_in_one_function_follow_each_other():
    costs = {("caller", f"callee{i}"): -3 for i in range(8)} | {("caller", "no"): 90}
    found = climb(World(costs))
    assert found.best.text == found.baseline.text - 24


def test_the_budget_is_kept_and_the_seed_counts():
    costs = {("caller", f"callee{i}"): (-1) ** i * (i + 1) for i in range(30)}
    for budget in (1, 2, 3, 10):
        world = World(costs)
        found = climb(world, budget)
        assert world.count == budget
        again = climb(World(costs), budget)
        assert (found.decisions, found.gains) == (again.decisions, again.gains)


TANGLE = """
import random
from inlining.test_search import World, climb

for seed in range(20):
    chance = random.Random(seed)
    pairs = [(f"f{chance.randrange(9)}", f"f{chance.randrange(9)}") for _ in range(20)]
    costs = {pair: chance.randint(-5, 40) for pair in pairs if pair[0] != pair[1]}
    found = climb(World(costs, local=["f1", "f2", "f3"]))
    print(found.evaluations, sorted(found.decisions.items()))
"""


def test_one_seed_finds_the_same_in_any_process():
    """Where Python hashes strings otherwise, sets have another order."""

    def run(hash_seed):
        done = subprocess.run(
            [sys.executable, "-c", TANGLE],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": TESTS},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    assert len({run(seed) for seed in ("1", "2", "3")}) == 1


def test_the_metric():
    costs = {("caller", "callee"): -5}
    table = {("caller", "callee"): 50}
    assert climb(World(costs, table=table)).best.text == 195
    found = climb(World(costs, table=table), metric="total")
    assert found.best.total == 200
    assert not found.decisions
    # Bytes beside the code: a function less has no entry in the tables.
    costs = {("caller", "callee"): 101}
    world = World(costs, local=["callee"], table={("caller", "callee"): -24})
    assert climb(world, metric="total").best.total == 201 - 24


def test_what_does_not_compile_is_not_the_best():
    pairs = star(4)
    world = World(pairs)
    world.broken = {(("caller1", "callee1"), 1)}
    found = climb(world)
    assert found.best.text == 800 - 5


def test_nothing_to_decide():
    found = climb(World({}))
    assert found.evaluations == 1
    assert found.best is found.baseline
    assert found.rewards().size == 0


def test_a_start():
    pairs = star(2)
    start = {("caller1", "callee1"): 1}
    found = climb(World(pairs), budget=2, start=start)
    assert found.decisions == start
    worse = {("caller0", "callee0"): 1}
    assert climb(World(pairs), budget=2, start=worse).decisions == {}


def test_gains_are_of_the_best_decisions():
    found = climb(World(star(6)))
    for (caller, callee), gain in found.gains.items():
        assert gain == (5 if int(caller[-1]) % 2 else 7), (caller, callee)
    assert list(found.rewards()) == [found.gains[pair] for pair in found.best.pairs]


def test_rewards_are_shared_by_the_calls_of_a_pair():
    pair, other = ("f", "g"), ("f", "h")
    best = evaluation([(pair, 1), (pair, 1), (other, 0)], {"f": 1})
    found = Found("m", best, best, gains={pair: 8.0})
    assert np.array_equal(found.rewards(), [4.0, 4.0, np.nan], equal_nan=True)


def test_random_flips():
    world = World(star(6))
    found = RandomFlips(world, [], 30, 1).search(MODULE)
    assert world.count == found.evaluations == 30
    assert found.best.text < found.baseline.text
    assert World(star(6)).decided(MODULE, found.decisions, []).text == found.best.text
    assert RandomFlips(World({}), [], 30, 1).search(MODULE).evaluations == 1


def test_pairs_on_which_llvm_decides_both_ways():
    pair, other = ("f", "g"), ("f", "h")
    mixed = evaluation([(pair, 1), (pair, 0), (pair, 0), (other, 1)], {"f": 1})
    assert majority(mixed) == {pair: 0, other: 1}
    assert unanimous(mixed) == {other: 1}


def test_a_log_has_what_can_be_replayed_by_key(tmp_path):
    pair, other = ("f", "g"), ("f", "h")
    best = evaluation([(pair, 1), (other, 1), (pair, 0), (other, 1)], {"f": 1})
    write_log(Found("m", best, best, gains={other: 6.0}), tmp_path / "x.log")
    written = log.read(tmp_path / "x.log")
    assert written.contexts == ["b.bc"]
    assert unanimous(Evaluation(Compiled(), written)) == {other: 1}
    assert list(written.reward) == [3.0, 3.0]


@pytest.mark.parametrize("names", [["a/b", "a_b", "a__b", "a_/b", "a/_b", "a/b_", "a/b/"]])
def test_every_module_has_a_log_of_its_own(names):
    assert len({log_name(name) for name in names}) == len(names)
    assert log_name("src/list.o") == "src__list.o.log"
    long = "x/" * 300
    assert len(log_name(long)) < 255
    assert log_name(long) != log_name(long + "y")
