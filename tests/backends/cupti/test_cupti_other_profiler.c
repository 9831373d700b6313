// Another profiler in the process asks for CUPTI: it is named and refused, or
// gets CUPTI, and calls are then recorded without it. The test calls the
// functions that are interposed before CUDA's and CUPTI's as the program's
// files would.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cupti/cupti_fixture.h"

enum { THREADS = 3 };

static const char *begin(const char *yield)
{
    // CUPTI is given up however slow the machine is.
    const ts_cupti_desc desc = { .yield = yield, .stop_ms = 60000 };
    assert_int_equal(ts_cupti_configure(&desc), TS_OK);
    const char *const path = rt_start("apart.sbt", cu_plain);
    assert_true(ts__ca_engine == &ts__cupti);
    return path;
}

// Of the runtime: as long as CUPTI is ours, it tells us.
static int launch_real(const void *function, ts__ca_dim3 grid,
                       ts__ca_dim3 block, void **arguments, size_t shared,
                       void *stream)
{
    const double_op op = { .what = DOUBLE_LAUNCH, .ns = 10 };
    return stream ? 700 : cu_run(&op);
}

static int wait_real(void)
{
    const double_op op = { .what = DOUBLE_DEVICE_SYNC };
    return cu_run(&op);
}

static int launch(void *stream)
{
    const ts__ca_dim3 one = { 1, 1, 1 };
    return ts__ca_cudaLaunchKernel("", one, one, NULL, 0, stream);
}

// As programs do that were compiled for CUDA 13.
static int launch_inner(void)
{
    const ts__ca_dim3 one = { 1, 1, 1 };
    return ts__ca___cudaLaunchKernel("", one, one, NULL, 0, NULL);
}

// Of the driver, of which they differ by what they take behind the place.
static int look_real(const char *name, void **found, int version,
                     uint64_t flags, void *status)
{
    const int ok = 0;
    assert_int_equal(version, 12030);
    assert_int_equal(flags, 1);
    *found = NULL;
    if (status) memcpy(status, &ok, sizeof ok);
    if (!strcmp(name, "cudaLaunchKernel"))
        *found = ts__ca_real[TS__CA_cudaLaunchKernel];
    if (!strcmp(name, "environ")) *found = &environ;
    return strcmp(name, "cuNothing") ? 0 : 500;
}

static void hear(void *user, uint32_t domain, uint32_t id, const void *data)
{
}

static int ask(void)
{
    void *handle = NULL;
    const int result = ts__ca_cuptiSubscribe(&handle, hear, NULL);
    if (result == 0) assert_int_equal(ts__cupti.call.unsubscribe(handle), 0);
    return result;
}

UNIT_TEST(who_asks_is_named_and_refused)
{
    const char *const path = begin(NULL);
    launch(NULL);
    assert_int_not_equal(ask(), 0);
    assert_int_not_equal(ask(), 0);
    launch(NULL);
    rt_trace trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "cupti.asked",
                   "test_cupti_other_profiler requested CUPTI");
    CU_ASSERT_SAYS(&trace, "cupti.asked", "was refused; ts-record --yield");
    assert_int_equal(rt_rows(&trace, TS_EVENT_MESSAGE, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(nobody_else_gets_what_one_was_promised)
{
    const char *const path = begin("kineto");
    assert_int_not_equal(ask(), 0);
    rt_trace trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "cupti.asked", "was refused");
    rt_close(&trace);
}

UNIT_TEST(who_asks_gets_it_and_calls_go_on)
{
    char count = 0;
    const char *const path = begin("TEST_cupti"); // in any case of letters
    launch(NULL);
    ts__ca_cudaDeviceSynchronize();
    const uint64_t clocks = cu_get("clocks_given");
    assert_int_equal(ask(), 0);
    // With a clock of its own, and it stays theirs.
    assert_int_equal(cu_get("clocks_given"), clocks + 1);
    assert_int_equal(ask(), 0);
    for (int i = 0; i < 5; i++)
        launch(NULL);
    launch(&count); // fails: nothing was started
    ts__ca_cudaDeviceSynchronize();
    rt_trace trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "cupti.asked", "requested CUPTI and has it");
    CU_ASSERT_SAYS(&trace, "backend.cupti", "on");
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, "cudaLaunchKernel"), 7);
    assert_int_equal(
        rt_rows(&trace, TS_EVENT_API_CALL, "cudaDeviceSynchronize"), 2);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 6);
    assert_int_equal(cu_lost(&trace, "another profiler records them"), 5);
    assert_int_equal(cu_lost(&trace, ""), 5);
    assert_string_equal(cu_text(&trace, "cupti.warning"), "");
    rt_close(&trace);
    // Without a session nothing is recorded, and the call is made.
    assert_int_equal(launch(NULL), 0);
}

UNIT_TEST(another_that_was_first_leaves_us_the_calls)
{
    cu_set("subscribe", 39);
    cu_owner("kineto");
    const char *const path = begin(NULL);
    launch(NULL);
    launch_inner();
    rt_trace trace = cu_end(path);
    cu_set("subscribe", 0);
    CU_ASSERT_SAYS(&trace, "backend.cupti", "another profiler (kineto) uses");
    CU_ASSERT_SAYS(&trace, "backend.cupti", "calls are recorded");
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    assert_int_equal(cu_lost(&trace, "another profiler records them"), 2);
    assert_int_equal(cu_lost(&trace, ""), 2);
    rt_close(&trace);
    // A session after it, with CUPTI again, has no call twice.
    const char *const after = begin(NULL);
    launch(NULL);
    trace = cu_end(after);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 1);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

static void *launches(void *count)
{
    for (int i = 0; i < 2000; i++)
        if (launch(NULL) == 0)
            __atomic_add_fetch((uint64_t *)count, 1, __ATOMIC_RELAXED);
    return NULL;
}

// Each launch is a kernel, a loss with its cause, or was in flight.
UNIT_TEST(threads_launch_while_it_is_given_up)
{
    pthread_t threads[THREADS];
    uint64_t count = 0;
    const char *const path = begin("all");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launches, &count),
                         0);
    assert_int_equal(ask(), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    launch(NULL);
    rt_trace trace = cu_end(path);
    const uint64_t kernels = rt_rows(&trace, TS_EVENT_KERNEL, NULL);
    const uint64_t lost = cu_lost(&trace, "");
    assert_int_equal(count, THREADS * 2000);
    assert_true(cu_lost(&trace, "another profiler records them") >= 1);
    assert_true(kernels + lost <= count + 1 + THREADS);
    assert_true(kernels + lost + THREADS >= count + 1);
    rt_close(&trace);
}

// By every function that looks up symbols, and only for interposed ones.
UNIT_TEST(what_is_looked_up_by_name_is_ours)
{
    int (*own)(const void *, ts__ca_dim3, ts__ca_dim3, void **, size_t,
               void *) = ts__ca_cudaLaunchKernel;
    int (*found)(const void *, ts__ca_dim3, ts__ca_dim3, void **, size_t,
                 void *);
    const ts__ca_dim3 one = { 1, 1, 1 };
    void *place = NULL;
    int status = 1;
    const char *const path = begin("all");
    assert_int_equal(ts__ca_cuGetProcAddress_v2("cudaLaunchKernel", &place,
                                                12030, 1, (uintptr_t)&status),
                     0);
    memcpy(&found, &place, sizeof found);
    assert_true(found == own && status == 0);
    assert_int_equal(ts__ca_cuGetProcAddress_v2("environ", &place, 12030, 1, 0),
                     0);
    assert_ptr_equal(place, &environ);
    assert_int_equal(
        ts__ca_cuGetProcAddress_v2("cuNothing", &place, 12030, 1, 0), 500);
    assert_null(place);
    void *const cupti =
        dlopen(double_path("libcupti.so"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(cupti);
    int (*const asks)(void **, ts__cu_called, void *) = ts__ca_cuptiSubscribe;
    place = ts__ca_dlsym(cupti, "cuptiSubscribe");
    assert_memory_equal(&place, &asks, sizeof place);
    assert_ptr_equal(ts__ca_dlsym(cupti, "cuptiGetVersion"),
                     dlsym(cupti, "cuptiGetVersion"));
    assert_null(ts__ca_dlsym(cupti, "cuptiNothing"));
    assert_ptr_equal(ts__ca_dlsym(RTLD_DEFAULT, "cuptiSubscribe"),
                     dlsym(RTLD_DEFAULT, "cuptiSubscribe"));
    assert_ptr_equal(ts__ca_dlsym(RTLD_NEXT, "malloc"),
                     dlsym(RTLD_NEXT, "malloc"));
    dlclose(cupti);
    // The interposed call records only what CUPTI does not report.
    assert_int_equal(found("", one, one, NULL, 0, NULL), 0);
    assert_int_equal(ask(), 0);
    assert_int_equal(found("", one, one, NULL, 0, NULL), 0);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    assert_int_equal(cu_lost(&trace, "another profiler records them"), 1);
    assert_string_equal(cu_text(&trace, "cupti.warning"), "");
    rt_close(&trace);
}

UNIT_TEST(that_no_call_was_seen_is_said)
{
    const char *const path = begin("all");
    launch(NULL);
    assert_int_equal(ask(), 0);
    launch_real("", (ts__ca_dim3){ 1, 1, 1 }, (ts__ca_dim3){ 1, 1, 1 }, NULL, 0,
                NULL);
    rt_trace trace = cu_end(path);
    CU_ASSERT_SAYS(&trace, "cupti.warning", "no CUDA call was seen");
    rt_close(&trace);
}

static int never(const char *a, const char *b)
{
    return 4711;
}

UNIT_TEST(only_what_goes_to_the_library_is_replaced)
{
    static const char here = 0;
    int (*own)(const char *, const char *) = never;
    int (*there)(const char *, const char *) = strcoll;
    char *volatile a = (char *)(size_t) "a";
    assert_int_equal(strverscmp(a, "a"), 0); // it is bound
    void *real = NULL;
    ts__patch patch = { "strverscmp", NULL };
    ts__patch_set set = { "str", &patch, &real, 1, { NULL } };
    memcpy(&patch.own, &own, sizeof own);
    memcpy(&real, &there, sizeof there);
    ts__patch_files(&set);
    assert_int_equal(strverscmp(a, "a"), 0);
    real = dlsym(RTLD_NEXT, "strverscmp");
    set.spare[0] = &here;
    ts__patch_files(&set);
    assert_int_equal(strverscmp(a, "a"), 0);
    set.spare[0] = NULL;
    ts__patch_files(&set);
    assert_int_equal(strverscmp(a, "a"), 4711);
    memcpy(&patch.own, &real, sizeof real); // as it was
    set.real = NULL;
    ts__patch_files(&set);
    assert_int_equal(strverscmp(a, "a"), 0);
}

static uint32_t looks, looked;

static int look_slowly(struct dl_phdr_info *info, size_t size, void *user)
{
    const struct timespec pause = { 0, 5000000 };
    __atomic_store_n(&looks, 1, __ATOMIC_RELEASE);
    nanosleep(&pause, NULL);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    return 1;
}

static void *look(void *user)
{
    ts__patch_walk_files(look_slowly, user);
    return NULL;
}

// Its locks would be taken for ever in the child.
UNIT_TEST(a_fork_waits_for_who_looks_through_the_loaders_files)
{
#ifdef UNDER_TSAN
    skip(); // the child has no such thread, which it takes for a leak
#endif
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    while (!__atomic_load_n(&looks, __ATOMIC_ACQUIRE))
        sched_yield();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(!__atomic_load_n(&looked, __ATOMIC_ACQUIRE) ||
              ts__patch_loaded() == 0);
    assert_int_equal(rt_wait(child), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    int (*const launching)(const void *, ts__ca_dim3, ts__ca_dim3, void **,
                           size_t, void *) = launch_real;
    int (*const waiting)(void) = wait_real;
    int (*const looking)(const char *, void **, int, uint64_t, void *) =
        look_real;
    cu_load_newest();
    memcpy(&ts__ca_real[TS__CA_cudaLaunchKernel], &launching, sizeof launching);
    memcpy(&ts__ca_real[TS__CA___cudaLaunchKernel], &launching,
           sizeof launching);
    memcpy(&ts__ca_real[TS__CA_cudaDeviceSynchronize], &waiting,
           sizeof waiting);
    memcpy(&ts__ca_real[TS__CA_cuGetProcAddress_v2], &looking, sizeof looking);
    return unit_run(NULL, NULL);
}
