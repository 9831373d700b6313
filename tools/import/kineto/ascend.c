/*
    ascend.c - rows of Ascend's trace_view.json: tasks of NPUs, and their calls

    A task has its kind ("Task Type"), its stream ("Stream Id"), and
    connection_id of the call that launched it; one of these two at least, since
    any Chrome trace may have an argument "Task Type". Processes stand for NPUs,
    which are numbered in the order of their first task.

    Source: ascend/msprof, analysis/viewer, and its tests. No file of a device
    was tried.
*/
#include "tools/import/kineto/kineto.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool holds(kineto_value text, const char *word)
{
    return text.type == KINETO_TEXT &&
           import_has((const uint8_t *)text.text, text.size, word);
}

// Tasks that wait or mark are no work.
static bool is_work(kineto_value type)
{
    return !holds(type, "EVENT") && !holds(type, "NOTIFY") &&
           !holds(type, "WAIT") && !holds(type, "RECORD") &&
           !holds(type, "PLACE_HOLDER");
}

static bool is_copy(kineto_value type)
{
    return holds(type, "MEMCPY") || holds(type, "SDMA") || holds(type, "DMA");
}

// Returns the number of the NPU that the row's process stands for.
static int64_t npu(kineto *k)
{
    const kineto_value pid = k->row->fields[KINETO_PID];
    const uint64_t key = XXH3_64bits(pid.text, pid.size);
    int64_t *const at = import_map_put(&k->npus, (int64_t)(key | 1), NULL);
    if (at && !*at) *at = (int64_t)k->npus.count;
    return at ? *at - 1 : 0;
}

static uint64_t connection(const kineto *k)
{
    int64_t id;
    return kineto_int(kineto_find(k->row, "connection_id"), &id) && id > 0
               ? (uint64_t)id
               : 0;
}

static bool is_task(const kineto *k, kineto_value type)
{
    int64_t stream;
    return type.type == KINETO_TEXT && is_work(type) &&
           (connection(k) ||
            kineto_int(kineto_find(k->row, "Stream Id"), &stream));
}

static void take_task(kineto *k, kineto_value type)
{
    static const char *const known[] = { "Task Type", "Stream Id",
                                         "connection_id", NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    import_operation op = { .correlation = connection(k) };
    kineto_time time;
    int64_t stream = 0;
    if (!kineto_time_of(k, &time, true)) return;
    op.start_ns = time.start_ns;
    op.duration_ns = time.duration_ns;
    if (!kineto_int(kineto_find(k->row, "Stream Id"), &stream) &&
        !kineto_int(k->row->fields[KINETO_TID], &stream)) {
        import_bad(k->job, "unknown_stream", time.start_ns);
        return;
    }
    op.track = import_stream(k->job, npu(k), IMPORT_NONE, stream);
    kineto_no_place_but(k, known);
    if (is_copy(type)) {
        op.kind = TS_EVENT_MEMCPY;
        import_gpu(k->job, &op);
        return;
    }
    const ts_launch_entry launch = { .name = import_name(k->job, name.text,
                                                         name.size) };
    op.kind = TS_EVENT_KERNEL;
    op.launch = import_launch(k->job, &launch);
    import_kernel(k->job, &op, name.text, name.size);
}

static void take_call(kineto *k)
{
    static const char *const known[] = { "connection_id", NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    kineto_time time;
    if (!kineto_time_of(k, &time, true)) return;
    const uint32_t thread = kineto_thread(k);
    import_api_call(k->job, thread, time.start_ns, time.duration_ns,
                    kineto_number_of(k, name.text, name.size), connection(k),
                    0);
    kineto_no_place_but(k, known);
}

bool kineto_take_ascend(kineto *k)
{
    const kineto_value type = kineto_find(k->row, "Task Type");
    const kineto_value name = k->row->fields[KINETO_NAME];
    if (name.type != KINETO_TEXT) return false;
    if (is_task(k, type)) {
        take_task(k, type);
        return true;
    }
    const bool is_call = type.type != KINETO_TEXT && connection(k) &&
                         (holds(name, "Node@") || holds(name, "AscendCL@"));
    if (is_call) take_call(k);
    return is_call;
}
