"""What the pass plugin can tell a model of a call."""

from __future__ import annotations


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LLVM_FEATURES = _names(
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
    is_callee_avail_external is_caller_avail_external
    """
)
"""LLVM's own, in its order."""
EXTRA_FEATURES = _names(
    """
    inlining_default callsite_loop_depth callsite_frequency callee_instructions
    caller_instructions callee_calls caller_calls callee_accesses callee_allocas
    caller_accesses caller_allocas callee_frame caller_frame callee_dead_ends
    caller_dead_ends callee_nounwind callsite_is_invoke callee_vanishes caller_vanishes
    callee_call_sites callee_call_sites_in_caller callee_other_uses callsite_arguments
    callsite_forwarded_arguments callsite_local_arguments callsite_is_tail callsite_is_cold
    callsite_in_entry callsite_result_used
    """
)
"""What can follow them, in this order: all that are numbers."""
DEFAULT = "inlining_default"
FREQUENCY, LOOP_DEPTH = "callsite_frequency", "callsite_loop_depth"
