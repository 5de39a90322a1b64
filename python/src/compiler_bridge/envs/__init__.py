"""Environments of gymnasium whose episodes are compiles by clang.

`compiler_bridge/Inline-v0` and `compiler_bridge/Evict-v0`, registered when this is imported; or
`gymnasium.make("compiler_bridge.envs:compiler_bridge/Inline-v0", corpus=...)`.
"""

from __future__ import annotations

try:
    import gymnasium
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ImportError(
        "compiler_bridge.envs needs gymnasium: pip install 'compiler-bridge[gym]'"
    ) from None

from ._env import EpisodeError
from ._vector import CompileVectorEnv
from .evict import EvictEnv
from .inline import InlineEnv

__all__ = ["CompileVectorEnv", "EpisodeError", "EvictEnv", "InlineEnv"]

for _name, _class in (("Inline", InlineEnv), ("Evict", EvictEnv)):
    gymnasium.register(
        f"compiler_bridge/{_name}-v0",
        entry_point=f"{_class.__module__}:{_class.__name__}",
        vector_entry_point=f"{__name__}._vector:{_name.lower()}_vector",
    )
