/*
    rule.h - the functions of all rules; rules.c describes each rule
*/
#ifndef TS_TOOLS_ANALYZE_ADVICE_RULE_H
#define TS_TOOLS_ANALYZE_ADVICE_RULE_H

#include "tools/analyze/advice/advice.h"

void rule_host_bound(advice *a, const advice_rule *rule);
void rule_host_zone(advice *a, const advice_rule *rule);
void rule_data_loading(advice *a, const advice_rule *rule);
void rule_contended_launches(advice *a, const advice_rule *rule);
void rule_launch_overhead(advice *a, const advice_rule *rule);
void rule_tiny_kernels(advice *a, const advice_rule *rule);
void rule_fusible_sequence(advice *a, const advice_rule *rule);
void rule_graph_capture(advice *a, const advice_rule *rule);
void rule_queue_full(advice *a, const advice_rule *rule);
void rule_alloc_in_loop(advice *a, const advice_rule *rule);
void rule_pin_in_loop(advice *a, const advice_rule *rule);
void rule_create_in_loop(advice *a, const advice_rule *rule);
void rule_module_load(advice *a, const advice_rule *rule);
void rule_slow_first_launch(advice *a, const advice_rule *rule);
void rule_blocking_readback(advice *a, const advice_rule *rule);
void rule_unread_sync(advice *a, const advice_rule *rule);
void rule_wide_sync(advice *a, const advice_rule *rule);
void rule_sync_bound(advice *a, const advice_rule *rule);
void rule_polling(advice *a, const advice_rule *rule);
void rule_default_stream(advice *a, const advice_rule *rule);
void rule_redundant_wait(advice *a, const advice_rule *rule);
void rule_pageable_copy(advice *a, const advice_rule *rule);
void rule_exposed_copy(advice *a, const advice_rule *rule);
void rule_copy_bound(advice *a, const advice_rule *rule);
void rule_small_copies(advice *a, const advice_rule *rule);
void rule_bounced_copy(advice *a, const advice_rule *rule);
void rule_overwritten_set(advice *a, const advice_rule *rule);
void rule_hot_kernel(advice *a, const advice_rule *rule);
void rule_low_occupancy(advice *a, const advice_rule *rule);
void rule_tail_effect(advice *a, const advice_rule *rule);
void rule_small_grid(advice *a, const advice_rule *rule);
void rule_ragged_block(advice *a, const advice_rule *rule);
void rule_local_memory(advice *a, const advice_rule *rule);
void rule_fp32_matmul(advice *a, const advice_rule *rule);
void rule_layout_conversion(advice *a, const advice_rule *rule);
void rule_unfused_attention(advice *a, const advice_rule *rule);
void rule_exposed_communication(advice *a, const advice_rule *rule);
void rule_small_collectives(advice *a, const advice_rule *rule);
void rule_collective_skew(advice *a, const advice_rule *rule);
void rule_straggler(advice *a, const advice_rule *rule);
void rule_late_begin(advice *a, const advice_rule *rule);
void rule_device_imbalance(advice *a, const advice_rule *rule);
void rule_unused_device(advice *a, const advice_rule *rule);
void rule_memory_full(advice *a, const advice_rule *rule);
void rule_memory_fragmented(advice *a, const advice_rule *rule);
void rule_memory_growth(advice *a, const advice_rule *rule);
void rule_slow_step(advice *a, const advice_rule *rule);
void rule_trace_losses(advice *a, const advice_rule *rule);
void rule_profiler_overhead(advice *a, const advice_rule *rule);
void rule_unexplained_idle(advice *a, const advice_rule *rule);
void rule_model_error(advice *a, const advice_rule *rule);
void rule_estimated_times(advice *a, const advice_rule *rule);

#endif // TS_TOOLS_ANALYZE_ADVICE_RULE_H
