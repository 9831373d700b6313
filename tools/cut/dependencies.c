/*
    dependencies.c - calls and operations that belong to selected events
*/
#include "tools/cut/cut.h"

static void take_launched(cut_choice *choice, const cut_row *row)
{
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (correlation && cut_is_selected(choice, row))
        cut_set_add(row->columns->kind == TS_EVENT_API_CALL ? &choice->calls
                                                            : &choice->waiting,
                    correlation);
}

static uint64_t gpu_kinds(void)
{
    uint64_t kinds = 0;
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        kinds |= UINT64_C(1) << kind;
    return kinds;
}

// Chunks of kinds that are not selected have no selected events.
static bool may_hold(const cut_choice *choice, const ts_chunk_info *info)
{
    const cut_options *const w = choice->options;
    if (w->kinds && !(w->kinds >> info->header.event & 1)) return false;
    return !w->timed ||
           (w->issued && info->header.event >= TS_EVENT_GPU_FIRST) ||
           (info->first_ns < w->to_ns && info->last_ns >= w->from_ns);
}

bool cut_find_deps(cut_choice *choice)
{
    const cut_deps deps = choice->options->deps;
    uint64_t kinds = 0;
    if (deps != CUT_DEPS_NONE) kinds |= gpu_kinds();
    if (deps == CUT_DEPS_BOTH) kinds |= TS_FILTER(API_CALL);
    return cut_each(choice, kinds, may_hold, take_launched) &&
           !choice->calls.no_memory && !choice->waiting.no_memory;
}

// Dependencies and accesses are kept if and only if their operation is.
bool cut_is_dep(cut_choice *choice, const cut_row *row)
{
    const cut_deps deps = choice->options->deps;
    const ts_event_kind kind = row->columns->kind;
    if (deps == CUT_DEPS_NONE) return false;
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (!correlation) return false;
    if (kind == TS_EVENT_API_CALL || kind == TS_EVENT_DEPENDENCY ||
        kind == TS_EVENT_ACCESS)
        return cut_set_has(&choice->waiting, correlation);
    return deps == CUT_DEPS_BOTH && kind >= TS_EVENT_GPU_FIRST &&
           cut_set_has(&choice->calls, correlation);
}
