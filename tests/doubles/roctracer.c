/*
    roctracer.c - a double of libroctracer64.so

    Its public functions, as far as a tool needs them to trace HIP.
    libamdhip64's double tells it what happens. Words in HIP_DOUBLE:

        hang_flush  a flush never returns
        no_pool     no pool can be made
        no_ops      operations cannot be asked for
*/
#define _GNU_SOURCE
#include "tests/doubles/hip.h"
#include "tests/doubles/hip_record.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { ROOM = 8192, FUNCTIONS = 64 };

typedef struct properties {
    uint32_t mode;
    size_t size;
    void (*allocate)(char **, size_t, void *);
    void *allocate_argument;
    void (*take)(const char *, const char *, void *);
    void *take_argument;
} properties;
typedef void (*callback)(uint32_t, uint32_t, const void *, void *);

static struct {
    pthread_mutex_t lock;
    properties pool;
    record records[ROOM];
    uint32_t count;
    bool ops;
    callback on[FUNCTIONS];
    void *argument[FUNCTIONS];
    uint64_t correlation;
} tracer = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t on_call(uint32_t number, int phase, const void *arguments,
                        size_t size, int result, uint64_t correlation)
{
    struct { // hip_api_data_t
        uint64_t correlation;
        uint32_t phase;
        uint64_t arguments[100];
    } data = { 0 };
    if (!correlation)
        correlation =
            __atomic_add_fetch(&tracer.correlation, 1, __ATOMIC_RELAXED);
    data.correlation = correlation;
    data.phase = (uint32_t)phase;
    if (arguments) memcpy(data.arguments, arguments, size);
    const callback on = tracer.on[number + 1];
    if (on) on(HIP_API, number + 1, &data, tracer.argument[number + 1]);
    return correlation;
}

static void hand_over(void) // with the lock
{
    if (tracer.count)
        tracer.pool.take((const char *)tracer.records,
                         (const char *)&tracer.records[tracer.count],
                         tracer.pool.take_argument);
    tracer.count = 0;
}

EXPORT int roctracer_flush_activity_expl(void *pool)
{
    while (double_does("hang_flush"))
        pause();
    pthread_mutex_lock(&tracer.lock);
    hand_over();
    pthread_mutex_unlock(&tracer.lock);
    return 0;
}

static void on_op(const double_op *op)
{
    const record r = record_of(op);
    if (!tracer.ops) return;
    pthread_mutex_lock(&tracer.lock);
    if (tracer.count == ROOM) hand_over();
    tracer.records[tracer.count++] = r;
    pthread_mutex_unlock(&tracer.lock);
}

static const double_listener listener = { on_call, NULL, on_op };

EXPORT int roctracer_open_pool_expl(const properties *p, void **pool)
{
    if (double_does("no_pool")) return -6;
    tracer.pool = *p;
    *pool = &tracer;
    return 0;
}

EXPORT const char *roctracer_op_string(uint32_t domain, uint32_t op,
                                       uint32_t kind)
{
    uint32_t count = 0;
    while (double_names[count])
        count++;
    return domain == HIP_API && op && op <= count ? double_names[op - 1] : NULL;
}

EXPORT int roctracer_enable_op_callback(int domain, uint32_t op, callback on,
                                        void *argument)
{
    if (domain != HIP_API || op >= FUNCTIONS) return -3;
    tracer.argument[op] = argument;
    tracer.on[op] = on;
    double_listen(&listener);
    return 0;
}

EXPORT int roctracer_disable_op_callback(int domain, uint32_t op)
{
    if (domain != HIP_API || op >= FUNCTIONS) return -3;
    tracer.on[op] = NULL;
    return 0;
}

EXPORT int roctracer_enable_domain_activity_expl(int domain, void *pool)
{
    if (domain != HIP_OPS || pool != &tracer || double_does("no_ops"))
        return -1;
    tracer.ops = true;
    return 0;
}

EXPORT int roctracer_disable_domain_activity(int domain)
{
    tracer.ops = tracer.ops && domain != HIP_OPS;
    return 0;
}

EXPORT int roctracer_next_record(const record *at, const record **next)
{
    *next = at + 1;
    return 0;
}

EXPORT int roctracer_get_timestamp(uint64_t *now_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    *now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return 0;
}
