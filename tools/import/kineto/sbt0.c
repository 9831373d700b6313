/*
    sbt0.c - rows of the JSON that TraceSmith 0.x exported

    A row is an event of its SBT: pid and tid are a device and a stream, and the
    arguments begin with "track_name" and have "event_type". Times are cut to
    microseconds; the profilers of that version put exact durations, sizes and
    launch configurations into arguments of their own.
*/
#include "tools/import/kineto/kineto.h"

static int64_t number(const kineto *k, const char *key)
{
    int64_t value;
    return kineto_int(kineto_find(k->row, key), &value) ? value : 0;
}

static uint32_t small(const kineto *k, const char *key)
{
    const int64_t value = number(k, key);
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

// Reads an address such as "0x7f00"; 0: none.
static uint64_t address(const kineto *k, const char *key)
{
    const kineto_value text = kineto_find(k->row, key);
    char digits[32], *end;
    if (text.type != KINETO_TEXT || text.size < 3 || text.size >= sizeof digits)
        return 0;
    memcpy(digits, text.text, text.size);
    digits[text.size] = 0;
    const uint64_t value = strtoull(digits, &end, 16);
    return *end ? 0 : value;
}

static void read_side(const kineto *k, const char *list,
                      const char *const *axes, uint32_t *side)
{
    int64_t sides[3];
    const bool is_list = kineto_list(kineto_find(k->row, list), sides, 3) == 3;
    for (size_t i = 0; i < 3; i++)
        side[i] = !is_list                                 ? small(k, axes[i])
                  : sides[i] > 0 && sides[i] <= UINT32_MAX ? (uint32_t)sides[i]
                                                           : 0;
}

static void read_launch(const kineto *k, ts_launch_entry *to)
{
    static const char *const grid[] = { "gridDimX", "gridDimY", "gridDimZ" };
    static const char *const block[] = { "blockDimX", "blockDimY",
                                         "blockDimZ" };
    read_side(k, "grid_dim", grid, to->grid);
    read_side(k, "block_dim", block, to->block);
    to->dynamic_shared =
        small(k, "shared_memory_bytes") + small(k, "dynamicSharedMemory");
    to->static_shared = small(k, "staticSharedMemory");
    to->local = small(k, "localMemoryPerThread");
    to->registers =
        small(k, "registers_per_thread") + small(k, "registersPerThread");
}

static void read_memory(const kineto *k, sbt0_event *e)
{
    const int64_t size = number(k, "size_bytes"), bytes = number(k, "bytes");
    e->has_memory = kineto_find(k->row, "size_bytes").type != KINETO_NONE;
    e->size = size > 0 ? (uint64_t)size : bytes > 0 ? (uint64_t)bytes : 0;
    e->source = address(k, "src_address");
    e->address = address(k, "dst_address");
}

static bool is_event(const kineto *k, int64_t *type)
{
    const kineto_row *const row = k->row;
    int64_t device;
    return row->arg_count > 3 && row->args[0].key_size == 10 &&
           !memcmp(row->args[0].key, "track_name", 10) &&
           kineto_int(kineto_find(row, "event_type"), type) && *type >= 0 &&
           *type <= 255 && kineto_int(kineto_find(row, "device_id"), &device);
}

static void leave_rest(kineto *k)
{
    static const char *const known[] = { "track_name",
                                         "correlation_id",
                                         "event_type",
                                         "device_id",
                                         "stream_id",
                                         "thread_id",
                                         "size_bytes",
                                         "bytes",
                                         "src_address",
                                         "dst_address",
                                         "grid_dim",
                                         "block_dim",
                                         "gridDimX",
                                         "gridDimY",
                                         "gridDimZ",
                                         "blockDimX",
                                         "blockDimY",
                                         "blockDimZ",
                                         "shared_memory_bytes",
                                         "dynamicSharedMemory",
                                         "staticSharedMemory",
                                         "localMemoryPerThread",
                                         "registers_per_thread",
                                         "registersPerThread",
                                         "duration_ns",
                                         NULL };
    kineto_no_place_but(k, known);
}

bool kineto_take_sbt0(kineto *k)
{
    const kineto_value name = k->row->fields[KINETO_NAME];
    const bool has_duration = k->row->fields[KINETO_DUR].type != KINETO_NONE;
    int64_t type;
    kineto_time time;
    if (!is_event(k, &type)) return false;
    k->old.job = k->job; // from now on it is such a file
    if (!kineto_time_of(k, &time, has_duration)) return true;
    sbt0_event e = { .type = (uint8_t)type,
                     .time_ns = time.start_ns,
                     .duration_ns = time.duration_ns,
                     .device = number(k, "device_id"),
                     .stream = number(k, "stream_id"),
                     .process = IMPORT_NONE,
                     .thread = number(k, "thread_id"),
                     .correlation = (uint64_t)number(k, "correlation_id") };
    if (name.type == KINETO_TEXT) e.name = (ts_text){ name.text, name.size };
    if (type != SBT0_KERNEL_COMPLETE && !e.duration_ns)
        e.duration_ns = number(k, "duration_ns");
    read_launch(k, &e.launch);
    read_memory(k, &e);
    sbt0_take(&k->old, &e);
    leave_rest(k);
    return true;
}
