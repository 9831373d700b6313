/*
    execute_fixture.h - what the tests of executions share

    Operations are recorded on a vdev, which is then closed; they run again in
    this process, which has the code of their kernels.
*/
#ifndef EXECUTE_FIXTURE_H
#define EXECUTE_FIXTURE_H

#include "tests/record/record_fixture.h"
#include "tests/backends/vdev/vdev_fixture.h"
#include "backends/ts_vdev_exec.h"

enum { COUNT = 40000 }; // floats, 2.4 chunks

typedef struct add_args {
    float *to, *from;
    float value;
} add_args;

static float extra; // no argument names it: replays cannot know it

static void add(const void *args, const ts_vdev_block *block)
{
    const add_args *const a = args;
    for (int i = 0; i < COUNT; i++)
        a->to[i] = a->from[i] + a->value + extra;
}

static bool shut, is_stuck;

static inline void wait_open(const void *args, const ts_vdev_block *block)
{
    while (__atomic_load_n(&shut, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&is_stuck, true, __ATOMIC_RELEASE);
        rt_sleep_ms(1);
    }
}

static const ts_session_desc plain;
static ts_vdev_kernel plain_add, typed_add;

static ts_vdev_kernel typed(ts_vdev_function function)
{
    static const ts_vdev_role roles[] = { { 0, TS_ACCESS_WRITE, 0 },
                                          { 8, TS_ACCESS_READ, 0 } };
    const ts_vdev_kernel_desc desc = { .name = "typed",
                                       .function = function,
                                       .args_size = sizeof(add_args),
                                       .role_count = 2,
                                       .roles = roles };
    ts_vdev_kernel made;
    ok(ts_vdev_kernel_register(&made, vdev, &desc));
    return made;
}

static inline void begin(void)
{
    is_stuck = false;
    const ts_vdev_desc desc = { .memory_bytes = 4 << 20 };
    vt_open(desc);
    plain_add = vt_kernel("add", add, sizeof(add_args), 0);
    typed_add = typed(add);
    extra = 0;
}

static ts_reader *reader;
static ts_executor executor; // the vdev's, but code is this program's own
static ts_execution *execution;
static size_t positions[64];

// First in `main`: a replay needs addresses that this sanitizer would hand out.
#ifdef UNDER_TSAN
#define NEED_ADDRESSES() \
    do { \
        puts("memory cannot have its addresses again under this sanitizer"); \
        return 77; \
    } while (0)
#else
#define NEED_ADDRESSES() (void)0
#endif

static inline ts_result load_own(void *state, const ts_executor_code *code,
                                 uint64_t *module, char *why, size_t room)
{
    ts_capture c;
    for (size_t i = 0; ts_reader_capture(reader, i, &c); i++) {
        const char *const name = ts_reader_name(reader, c.head.name).text;
        if (strcmp(name, "add") && strcmp(name, "typed")) continue;
        *module = (uint64_t)(uintptr_t)add - c.head.function;
        return TS_OK;
    }
    return TS_ERR_NOT_FOUND;
}

static ts_vdev_function the_only;

static inline ts_result load_the_only(void *state, const ts_executor_code *code,
                                      uint64_t *module, char *why, size_t room)
{
    ts_capture c;
    if (!ts_reader_capture(reader, 0, &c)) return TS_ERR_NOT_FOUND;
    *module = (uint64_t)(uintptr_t)the_only - c.head.function;
    return TS_OK;
}

// All recorded operations are launches of this kernel.
static inline void load_only(ts_vdev_function kernel)
{
    the_only = kernel;
    executor.load = load_the_only;
}

// Ends the recording and closes the vdev, so that its addresses are free.
static inline void finish(const char *path)
{
    vt_finish();
    ts_capture_stop();
    ok(ts_session_stop());
    ok(ts_vdev_close(vdev));
    const ts_reader_desc desc = { .path = path };
    ok(ts_reader_open(&reader, &desc));
    executor = ts_vdev_executor;
    executor.load = load_own;
    for (size_t i = 0; i < 64; i++)
        positions[i] = i;
}

// Time is over when a kernel hangs, not when the machine is slow. At the end a
// lost device is queried once more, without waiting: what it has done by then
// depends on the machine.
static inline ts_result wait_patiently(void *state, uint32_t timeout_ms)
{
    if (!timeout_ms) return ts_vdev_executor.wait(state, 60000);
    ts_result result;
    do
        result = ts_vdev_executor.wait(state, timeout_ms);
    while (result == TS_ERR_BUSY &&
           !__atomic_load_n(&is_stuck, __ATOMIC_ACQUIRE));
    return result;
}

static inline ts_execution_desc usual(void)
{
    const ts_execution_desc desc = { .executor = &executor };
    return desc;
}

static inline void close_execution(void)
{
    ts_execution_close(execution);
    execution = NULL;
}

static inline void close_all(void)
{
    close_execution();
    ts_reader_close(reader);
}

static inline void launch_add(ts_vdev_kernel kernel, float *to, float *from,
                              float value)
{
    const add_args args = { to, from, value };
    const ts_vdev_launch_desc desc = { .args = &args };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
}

static inline float *floats(float value)
{
    float *const made = vt_memory(0, COUNT * sizeof *made);
    for (int i = 0; i < COUNT; i++)
        made[i] = value + (float)i;
    return made;
}

#endif // EXECUTE_FIXTURE_H
