/*
    hip_hook.h - how the double of libamdhip64.so tells of itself

    HOOK_NEW: hipRegisterTracerCallback, as since ROCm 5.3, with the data of
    6.2. HOOK_OLD: tables of callbacks, as before. Neither: nothing, as a
    runtime of another maker. Part of amdhip64.c.
*/
#if defined(HOOK_NEW) || defined(HOOK_OLD)
#include "tests/doubles/hip_record.h"

enum { DATA = 1520, FUNCTION_COUNT = 399 };

EXPORT const char *hipApiName(uint32_t id);
const char *hipApiName(uint32_t id)
{
    static char other[16];
    const uint32_t count = double_does("newer") ? 450 : FUNCTION_COUNT;
    if (id && id <= NUMBERS) return double_names[id - 1];
    snprintf(other, sizeof other, "hipOther%u", id);
    return id && id <= count ? other : "unknown";
}

// Calls within calls: one is kept until it ends.
enum { NESTED = 4 };
static __thread uint32_t nested;
#endif

#ifdef HOOK_NEW
typedef struct trace_data {
    uint64_t correlation;
    uint32_t phase;
    uint8_t rest[DATA - 12];
    uint64_t time, word;
    void (*enter)(uint32_t, struct trace_data *);
    void (*exit)(uint32_t, struct trace_data *);
} trace_data;
_Static_assert(sizeof(trace_data) == DATA + 32, "layout");

static int (*tracer)(int, uint32_t, void *);
static __thread struct {
    bool enabled;
    trace_data data;
} calls[NESTED];

static uint64_t on_call(uint32_t number, int phase, const void *arguments,
                        size_t size, int result, uint64_t correlation)
{
    if (phase) {
        nested--;
        if (calls[nested].enabled && calls[nested].data.exit)
            calls[nested].data.exit(number + 1, &calls[nested].data);
        return correlation;
    }
    trace_data *const data = &calls[nested].data;
    memset(data, 0xA5, sizeof *data); // the real one does not initialise it
    calls[nested].enabled = tracer && !tracer(HIP_API, number + 1, data);
    if (!calls[nested++].enabled) return 0;
    correlation = data->correlation;
    if (data->enter && arguments) memcpy((char *)data + 16, arguments, size);
    if (data->enter) data->enter(number + 1, data);
    return correlation;
}

static void on_op(const double_op *op)
{
    record r = record_of(op);
    if (tracer && !tracer(HIP_OPS, r.op, NULL)) tracer(HIP_OPS, r.op, &r);
}

static const double_listener hook = { on_call, NULL, on_op };

EXPORT void hipRegisterTracerCallback(int (*function)(int, uint32_t, void *));
void hipRegisterTracerCallback(int (*function)(int, uint32_t, void *))
{
    tracer = function;
    double_listen(function ? &hook : NULL);
}
#endif

#ifdef HOOK_OLD
static struct {
    void (*number)(uint64_t);
    void (*op)(uint32_t, void *, void *);
    void *argument;
    bool enabled[3];
    void *(*act[FUNCTION_COUNT + 1])(uint32_t, void *, const void *, void *);
    void *act_argument[FUNCTION_COUNT + 1];
    void (*api[FUNCTION_COUNT + 1])(uint32_t, uint32_t, const void *, void *);
    void *api_argument[FUNCTION_COUNT + 1];
} table;
static __thread void *calls[NESTED];

static uint64_t on_call(uint32_t number, int phase, const void *arguments,
                        size_t size, int result, uint64_t correlation)
{
    const uint32_t id = number + 1;
    uint64_t own = 0;
    if (phase) {
        char *const data = calls[--nested];
        if (data && table.api[id])
            table.api[id](HIP_API, id, data, table.api_argument[id]);
        if (data && table.act[id])
            table.act[id](id, NULL, NULL, table.act_argument[id]);
        return correlation;
    }
    char *const data =
        table.act[id] ? table.act[id](id, NULL, NULL, NULL) : NULL;
    calls[nested++] = data;
    if (!data) return 0;
    memcpy(&own, data, sizeof own);
    if (arguments) memcpy(data + 16, arguments, size);
    if (table.api[id]) {
        const uint32_t ends = 1;
        table.api[id](HIP_API, id, data, table.api_argument[id]);
        memcpy(data + 8, &ends, sizeof ends);
    }
    return own;
}

// Operations are numbered by themselves; see submit.
static uint64_t number_op(void)
{
    static uint64_t last = 5000;
    const uint64_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    if (table.number) table.number(number);
    return number;
}

static void on_op(const double_op *op)
{
    record r = record_of(op);
    if (table.enabled[r.op]) table.op(r.op, &r, table.argument);
}

static const double_listener hook = { on_call, NULL, on_op };

EXPORT void hipInitActivityCallback(void *number, void *op, void *argument);
void hipInitActivityCallback(void *number, void *op, void *argument)
{
    memcpy(&table.number, &number, sizeof number);
    memcpy(&table.op, &op, sizeof op);
    table.argument = argument;
    double_listen(&hook);
}

EXPORT bool hipEnableActivityCallback(uint32_t op, bool enable);
bool hipEnableActivityCallback(uint32_t op, bool enable)
{
    table.enabled[op] = enable;
    return true;
}

EXPORT int hipRegisterActivityCallback(uint32_t id, void *function, void *arg);
int hipRegisterActivityCallback(uint32_t id, void *function, void *arg)
{
    if (!id || id > FUNCTION_COUNT) return hipErrorInvalidValue;
    memcpy(&table.act[id], &function, sizeof function);
    table.act_argument[id] = arg;
    return hipSuccess;
}

EXPORT int hipRemoveActivityCallback(uint32_t id);
int hipRemoveActivityCallback(uint32_t id)
{
    return hipRegisterActivityCallback(id, NULL, NULL);
}

EXPORT int hipRegisterApiCallback(uint32_t id, void *function, void *arg);
int hipRegisterApiCallback(uint32_t id, void *function, void *arg)
{
    if (!id || id > FUNCTION_COUNT) return hipErrorInvalidValue;
    memcpy(&table.api[id], &function, sizeof function);
    table.api_argument[id] = arg;
    return hipSuccess;
}

EXPORT int hipRemoveApiCallback(uint32_t id);
int hipRemoveApiCallback(uint32_t id)
{
    return hipRegisterApiCallback(id, NULL, NULL);
}
#endif
