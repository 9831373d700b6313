// Stacks where other unwinders hang: in signal handlers, in callbacks of the
// loader, in 64 threads at once, in children made by fork.
#define _GNU_SOURCE
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_stack.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/time.h>

static void start(const char *path)
{
    const ts_session_desc desc = { .path = path };
    assert_int_equal(TS_OK, ts_session_start(&desc));
}

/* ---- Signals ------------------------------------------------------------- */

static uint64_t taken, shallow, handled;
static int stop;

#define ADD(p)    __atomic_fetch_add(p, 1, __ATOMIC_RELAXED)
#define GET(p)    __atomic_load_n(p, __ATOMIC_RELAXED)
#define SET(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)

static void handler(int signal)
{
    uint64_t addresses[64];
    const int error = errno;
    ADD(&handled);
    // The handler, what called it, what it interrupted.
    if (ts_stack_addresses(addresses, 64, 0) < 3) ADD(&shallow);
    if (ts_stack_here(0, 16)) ADD(&taken);
    errno = error;
}

static void *allocate(void *user)
{
    for (uint32_t i = 0; !GET(&stop); i++) {
        void *volatile p[8];
        for (uint32_t j = 0; j < 8; j++)
            p[j] = malloc(1 + (i * 7919 + j * 104729) % 50000);
        for (uint32_t j = 0; j < 8; j++)
            free(p[j]);
    }
    return NULL;
}

static void *open_and_close(void *user)
{
    while (!GET(&stop)) {
        void *const lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        void *const other = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        ts_stack_here(0, 16);
        if (other) dlclose(other);
        if (lib) dlclose(lib);
    }
    return NULL;
}

UNIT_TEST(handlers_may_ask_in_the_midst_of_malloc_and_dlopen)
{
    const char *const path = rt_path("signals.sbt");
    pthread_t threads[3];
    start(path);
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, &old);
    SET(&stop, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    pthread_create(&threads[2], NULL, open_and_close, NULL);
    const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_PROF, &often, NULL);
    const uint64_t from = rt_now_ns(CLOCK_MONOTONIC);
    while (GET(&handled) < 100 &&
           rt_now_ns(CLOCK_MONOTONIC) - from < 20000000000)
        rt_sleep_ms(10);
    setitimer(ITIMER_PROF, &never, NULL);
    SET(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGPROF, &old, NULL);
    assert_int_equal(TS_OK, ts_session_stop());
    assert_in_range(handled, 100, UINT64_MAX);
    // Few are cut: where the jump tables of linkers were interrupted. An
    // emulator's way back from a handler belongs to no module.
#if defined(__x86_64__)
    assert_in_range(shallow, 0, handled / 4);
#endif
    assert_in_range(taken, handled / 2, handled);
    rt_trace trace = rt_read(path);
    rt_close(&trace);
}

static int ask(struct dl_phdr_info *info, size_t size, void *user)
{
    *(uint32_t *)user = ts_stack_here(0, 16);
    return 1;
}

UNIT_TEST(a_callback_of_the_loader_may_ask)
{
    uint32_t stack = 0;
    const ts_frame_entry *frames;
    const char *const path = rt_path("loader.sbt");
    start(path);
    dl_iterate_phdr(ask, &stack);
    rt_trace trace = rt_end(path);
    assert_in_range(ts_reader_stack(trace.reader, stack, &frames), 3, 16);
    rt_close(&trace);
}

/* ---- Threads ------------------------------------------------------------- */

enum { THREADS = 64, STACKS = 300 };
static uint32_t numbers[THREADS][STACKS];
static pthread_barrier_t barrier;

static __attribute__((noinline)) uint32_t climb(uint32_t bits, uint32_t depth);

static __attribute__((noinline)) uint32_t other(uint32_t bits, uint32_t depth)
{
    const uint32_t stack = climb(bits, depth);
    __asm__ volatile("");
    return stack;
}

// As many stacks as there are numbers of `depth` bits.
static uint32_t climb(uint32_t bits, uint32_t depth)
{
    uint32_t stack = 0;
    if (!depth)
        stack = ts_stack_here(0, 32);
    else if (bits & 1)
        stack = other(bits >> 1, depth - 1);
    else
        stack = climb(bits >> 1, depth - 1);
    __asm__ volatile("");
    return stack;
}

static void *climb_all(void *user)
{
    uint32_t *const mine = user;
    pthread_barrier_wait(&barrier);
    for (uint32_t i = 0; i < STACKS; i++)
        mine[i] = climb(i, 9);
    return NULL;
}

UNIT_TEST(threads_at_once_give_one_stack_one_number)
{
    pthread_t threads[THREADS];
    const char *const path = rt_path("threads.sbt");
    start(path);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, climb_all, numbers[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(TS_OK, ts_session_stop());
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(numbers[0], numbers[i], sizeof numbers[0]);
    rt_trace trace = rt_read(path);
    const ts_frame_entry *a, *b;
    uint32_t before = 0;
    for (uint32_t i = 0; i < STACKS; i++, before = 0) {
        const uint32_t count = ts_reader_stack(trace.reader, numbers[0][i], &a);
        assert_in_range(count, 11, 32);
        for (uint32_t j = 0; j < count; j++)
            assert_int_not_equal(0, a[j].module);
        if (i) before = ts_reader_stack(trace.reader, numbers[0][i - 1], &b);
        if (before == count) assert_memory_not_equal(a, b, count * sizeof *a);
    }
    rt_close(&trace);
}

/* ---- Children ------------------------------------------------------------ */

static void child(void *user)
{
    const ts_session_desc desc = { .path = user, .drain = TS_DRAIN_MANUAL };
    uint64_t addresses[16];
    RT_CHECK(ts_stack_addresses(addresses, 16, 0) >= 3);
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    RT_CHECK(climb(5, 4) != 0);
    RT_CHECK(ts_session_stop() == TS_OK);
}

UNIT_TEST(a_child_made_by_fork_goes_on)
{
    char path[512];
    snprintf(path, sizeof path, "%s", rt_path("child.sbt"));
    start(rt_path("parent.sbt"));
    assert_int_not_equal(0, climb(3, 4));
    rt_in_child(child, path);
    rt_trace trace = rt_end(path);
    assert_in_range(ts_reader_entry_count(trace.reader, TS_CHUNK_STACKS), 1,
                    1000);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
