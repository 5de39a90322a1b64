"""What an inlining policy looks at, as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# LLVM's own, in its order, but for two that are 0 outside of ThinLTO.
OF_LLVM = _names(
    """
    sroa_savings sroa_losses load_elimination call_penalty call_argument_setup
    load_relative_intrinsic lowered_call_arg_setup indirect_call_penalty jump_table_penalty
    case_cluster_penalty switch_default_dest_penalty switch_penalty
    unsimplified_common_instructions num_loops dead_blocks simplified_instructions
    constant_args constant_offset_ptr_args callsite_cost cold_cc_penalty
    last_call_to_static_bonus is_multiple_blocks nested_inlines nested_inline_cost_estimate
    threshold callee_basic_block_count callsite_height node_count nr_ctant_params
    cost_estimate edge_count caller_users caller_conditionally_executed_blocks
    caller_basic_block_count callee_conditionally_executed_blocks callee_users
    """
)
# Ours that cost little: all but those of loops and frequencies.
EXTRA = _names(
    """
    inlining_default callee_instructions caller_instructions callee_calls caller_calls
    callee_accesses callee_allocas caller_accesses caller_allocas callee_frame caller_frame
    callee_dead_ends caller_dead_ends callee_nounwind callsite_is_invoke callee_vanishes
    caller_vanishes callee_call_sites callee_call_sites_in_caller callee_other_uses
    callsite_arguments callsite_forwarded_arguments callsite_local_arguments
    callsite_is_tail callsite_is_cold callsite_in_entry callsite_result_used
    """
)
FEATURES = OF_LLVM + EXTRA
DEFAULT = "inlining_default"


def matrix(columns: Mapping[str, Any], names: Sequence[str] = FEATURES) -> Matrix:
    """One row per decision."""
    if not columns:
        return np.zeros((0, len(names)), np.float32)
    return np.stack([np.asarray(columns[name])[:, 0].astype(np.float32) for name in names], axis=1)


def squashed(values: Matrix) -> Matrix:
    """Sizes and costs of all magnitudes, as the network sees them."""
    return np.sign(values) * np.log1p(np.abs(values))
