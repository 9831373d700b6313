/*
    rule.h - the functions of all rules

    advice_rules (rules.c) names each rule with what it finds and what its gain
    means; the thresholds in backquotes below are the RULE.THRESHOLD of
    advice_settings. A rule calls advice_find for each finding and none if a
    threshold is not reached; if memory runs out it sets a->failed. Rules run
    one after another on one thread, in the order of the list.
*/
#ifndef TS_TOOLS_ANALYZE_ADVICE_RULE_H
#define TS_TOOLS_ANALYZE_ADVICE_RULE_H

#include "tools/analyze/advice/advice.h"

// One finding if TS_COST_HOST has its share of the critical path: the gain is
// that of a host at the assumed share of its time, so `assumed` is set.
void rule_host_bound(advice *a, const advice_rule *rule);
// A finding for each of the first zones by their own time on the critical path,
// without inner zones, waits and allocations; held_ns is that time.
void rule_host_zone(advice *a, const advice_rule *rule);
// Zones and functions that load data, by their names: the share counts their
// time on the critical path, the change spares them on all threads.
void rule_data_loading(advice *a, const advice_rule *rule);
// Compares the median launch that overlaps one of another thread with the
// median of those that overlap none; the excess is spared.
void rule_contended_launches(advice *a, const advice_rule *rule);
// Sums calls that launch work and do not wait, against the time of all
// processes. Calls above LAUNCH_LOADS_NS load code and do not count.
void rule_launch_overhead(advice *a, const advice_rule *rule);
// Kernels of at most `time` ns. Those within `pause` ns of each other on a
// stream are fused; runs that adjoin stay separate.
void rule_tiny_kernels(advice *a, const advice_rule *rule);
// The repeated sequence of short kernels with the longest gaps inside it. At
// most one finding, since sequences overlap.
void rule_fusible_sequence(advice *a, const advice_rule *rule);
// Sequences of the same launches on a thread, with pauses of at most `pause`
// ns: the calls of each repetition but the first are spared.
void rule_graph_capture(advice *a, const advice_rule *rule);
// Calls that the graph shows to end only when a queue had room (TS_EDGE_QUEUE).
void rule_queue_full(advice *a, const advice_rule *rule);
// Calls of CALL_ALLOC between the start of the first operation and the end of
// the last: what a program allocates before it uses a device costs nothing.
void rule_alloc_in_loop(advice *a, const advice_rule *rule);
// Calls of CALL_HOST_MEMORY, as rule_alloc_in_loop.
void rule_pin_in_loop(advice *a, const advice_rule *rule);
// Calls of CALL_CREATE, as rule_alloc_in_loop.
void rule_create_in_loop(advice *a, const advice_rule *rule);
// Calls of CALL_LOAD, as rule_alloc_in_loop.
void rule_module_load(advice *a, const advice_rule *rule);
// First launches of each kernel that take `time` ns more than its shortest
// later one, or than is usual if there is none.
void rule_slow_first_launch(advice *a, const advice_rule *rule);
// Waits for a copy to the host of at most `size` bytes that was the last thing
// its thread had issued. The last wait of a thread never counts.
void rule_blocking_readback(advice *a, const advice_rule *rule);
// Explicit synchronisations since whose predecessor on the thread nothing in
// the file gave the host data (a copy to it, a host function). Medium
// confidence: mapped memory is read without copies.
void rule_unread_sync(advice *a, const advice_rule *rule);
// Device synchronisations behind a copy to the host that last `time` ns longer
// than the copy: that rest is spared.
void rule_wide_sync(advice *a, const advice_rule *rule);
// Idle time of devices whose cause is a synchronising host (TS_IDLE_HOST_SYNC);
// all waits but the last of each thread are spared.
void rule_sync_bound(advice *a, const advice_rule *rule);
// Calls that query streams or events (CALL_QUERY), each as long as it took.
void rule_polling(advice *a, const advice_rule *rule);
// Operations that the legacy default stream holds up (TS_EDGE_LEGACY_DEFAULT).
// Medium confidence: the order may be needed.
void rule_default_stream(advice *a, const advice_rule *rule);
// Event waits on the stream of the record, or for what was known to be
// complete.
void rule_redundant_wait(advice *a, const advice_rule *rule);
// Copies of at least `size` bytes through pageable memory, a finding for each
// direction; the rate is that of pinned copies of the trace, else an assumed
// one.
void rule_pageable_copy(advice *a, const advice_rule *rule);
// Device time in which copies run and nothing else; kernels no longer wait for
// copies in the what-if, which is an upper bound.
void rule_exposed_copy(advice *a, const advice_rule *rule);
// Copies to devices, if copies have their share of the critical path.
void rule_copy_bound(advice *a, const advice_rule *rule);
// Copies of at most `size` bytes that follow one of the same direction on their
// stream from the same thread, with the one that they follow.
void rule_small_copies(advice *a, const advice_rule *rule);
// Pairs of a copy to the host and a later copy of the same host bytes to a
// device. Medium confidence: the host may have changed them.
void rule_bounced_copy(advice *a, const advice_rule *rule);
// Memsets all of whose bytes the next operation of their stream overwrites.
void rule_overwritten_set(advice *a, const advice_rule *rule);
// A finding for each of the first kernels by time on the critical path, at the
// assumed share of its time (`assumed` is set).
void rule_hot_kernel(advice *a, const advice_rule *rule);
// Kernels whose registers or shared memory bound the theoretical occupancy, at
// most three findings and without a gain: occupancy alone promises none.
void rule_low_occupancy(advice *a, const advice_rule *rule);
// Kernels of a few waves whose last wave is mostly empty; durations as if all
// waves were full.
void rule_tail_effect(advice *a, const advice_rule *rule);
// Kernels of at least `time` ns with blocks for few of the multiprocessors;
// durations as if each had one.
void rule_small_grid(advice *a, const advice_rule *rule);
// Kernels with empty lanes in the last warp of each block. A device without
// `warp_size` counts as one of 32.
void rule_ragged_block(advice *a, const advice_rule *rule);
// Kernels with at least `size` bytes of local memory per thread; no gain.
void rule_local_memory(advice *a, const advice_rule *rule);
// Kernels named like fp32 products on devices from compute capability 7 on, at
// the assumed share of their time.
void rule_fp32_matmul(advice *a, const advice_rule *rule);
// Kernels named like conversions between NCHW and NHWC; removed in the what-if.
void rule_layout_conversion(advice *a, const advice_rule *rule);
// Softmax kernels with a product at most three kernels before and after them.
void rule_unfused_attention(advice *a, const advice_rule *rule);
// Device time in which collectives run and nothing else; as rule_exposed_copy.
void rule_exposed_communication(advice *a, const advice_rule *rule);
// Collectives of at most `size` bytes, or `time` ns where the size is unknown,
// that follow another on their stream: fused, less the shortest of their kind.
void rule_small_collectives(advice *a, const advice_rule *rule);
// Collectives whose other members are in no trace: what they take beyond the
// fastest tenth of their kind counts as waiting.
void rule_collective_skew(advice *a, const advice_rule *rule);
// The rank that others wait for longest, if it arrives last often enough. Needs
// two traces with rendezvous.
void rule_straggler(advice *a, const advice_rule *rule);
// Ranks that begin after the first one, if they meet in rendezvous at all; each
// begins sooner in the what-if.
void rule_late_begin(advice *a, const advice_rule *rule);
// The device with the most work, without waiting in collectives, against the
// mean of all.
void rule_device_imbalance(advice *a, const advice_rule *rule);
// Devices that the trace describes and no operation runs on. None in a job of
// several processes, which may use them.
void rule_unused_device(advice *a, const advice_rule *rule);
// Pools whose peak takes its share of the memory of their device; no gain.
void rule_memory_full(advice *a, const advice_rule *rule);
// Holes between the blocks of a pool at its peak; low confidence, because the
// allocator may have returned them. No gain.
void rule_memory_fragmented(advice *a, const advice_rule *rule);
// Pools that hold more at the end of each marked step than before; no gain.
void rule_memory_growth(advice *a, const advice_rule *rule);
// Marked steps that exceed the median; shows the longest. No gain.
void rule_slow_step(advice *a, const advice_rule *rule);
// Records that were lost, not those that stalled; shows the worst row.
void rule_trace_losses(advice *a, const advice_rule *rule);
// Spans that the profiler recorded as its own, on all threads that launch work
// in that file (at most 16).
void rule_profiler_overhead(advice *a, const advice_rule *rule);
// Idle time without a cause, or with an inferred one only.
void rule_unexplained_idle(advice *a, const advice_rule *rule);
// A model whose makespan differs from the record, or that waits in a cycle:
// then the gains of all findings are in doubt.
void rule_model_error(advice *a, const advice_rule *rule);
// The first file whose source has no times of its own, or whose clock has no
// second sample.
void rule_estimated_times(advice *a, const advice_rule *rule);

#endif // TS_TOOLS_ANALYZE_ADVICE_RULE_H
