// Thousands of new stacks are numbered, kept and written, during signals, forks
// and starts and ends of sessions.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static const ts_session_desc plain;
static const ts_session_desc follow = { .fork = TS_FORK_FOLLOW };

enum { MANY = 6000, DEEPEST = 40 };

// The stack of a number, through several modules, some of them large. Every
// 50th has offsets and every 70th modules that do not fit the packed form;
// every 39th reaches the limits of that form.
static uint32_t stack_of(uint64_t seed, ts_frame_entry *frames)
{
    const uint32_t count = 1 + (uint32_t)(seed % DEEPEST);
    for (uint32_t i = 0; i < count; i++) {
        frames[i].module = (uint32_t)((seed >> 3) + i / 3) & 7;
        frames[i].unused = 0;
        frames[i].offset = (seed << 8) + i * 16;
        if (i % 7 > 4) frames[i].offset |= UINT64_C(3) << 30;
        if (seed % 39 == 0 && i % 2) {
            frames[i].module |= 0x3FF0;
            frames[i].offset |= UINT64_C(0xFFFF8) << 28;
        }
        if (seed % 50 == 0) frames[i].offset |= UINT64_C(0xFFFF) << 48;
        if (seed % 70 == 0) frames[i].module += 1u << 14;
    }
    return count;
}

static uint32_t define(uint64_t seed)
{
    ts_frame_entry frames[DEEPEST];
    return ts_stack_define(frames, stack_of(seed, frames));
}

// An event with a stack and the number of the stack that it must have.
static uint32_t use(uint64_t seed)
{
    const uint32_t stack = define(seed);
    const uint64_t now = ts_tick_now();
    const ts_api_call call = {
        .start = now, .end = now, .correlation = seed, .stack = stack
    };
    ts_api_call_record(&call);
    return stack;
}

static size_t assert_stacks(const char *path)
{
    rt_trace trace = rt_read(path);
    size_t count = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        if (row->kind != TS_EVENT_API_CALL) continue;
        ts_frame_entry frames[DEEPEST];
        const ts_frame_entry *found;
        const uint64_t seed = row->values[TS_COLUMN_CORRELATION];
        const uint32_t depth = stack_of(seed, frames);
        const uint32_t stack = (uint32_t)row->values[TS_COLUMN_STACK];
        if (ts_reader_stack(trace.reader, stack, &found) != depth ||
            memcmp(found, frames, depth * sizeof *frames) != 0)
            fail_msg("%s: stack %u is not that of %u", path, (unsigned)stack,
                     (unsigned)seed);
        count++;
    }
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    return count;
}

UNIT_TEST(each_new_stack_has_a_number_of_its_own)
{
    static uint32_t numbers[MANY];
    const char *const first = rt_start("first.sbt", plain);
    for (uint32_t i = 0; i < MANY; i++)
        numbers[i] = use(i);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_not_equal(numbers[i], 0);
        assert_int_equal(define(i), numbers[i]);
        for (uint32_t k = i < 50 ? 0 : i - 50; k < i; k++)
            assert_int_not_equal(numbers[i], numbers[k]);
    }
    const char *const copy = rt_path("copy.sbt");
    assert_int_equal(ts_session_snapshot(copy), TS_OK);
    assert_int_equal(ts_session_stop(), TS_OK);
    // A number remains valid.
    const char *const second = rt_start("second.sbt", plain);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(use(i), numbers[i]);
    for (uint32_t i = MANY; i < 2 * MANY; i++)
        use(i);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(assert_stacks(first), MANY);
    assert_int_equal(assert_stacks(second), 2 * MANY);
}

static void killed(void *name)
{
    rt_start((const char *)name, plain);
    for (uint32_t i = 0; i < MANY; i++)
        use(100000 + i);
    raise(SIGKILL);
}

UNIT_TEST(stacks_survive_the_death_of_the_process)
{
    char name[] = "killed.sbt";
    rt_wait(rt_fork(killed, name));
    assert_int_equal(assert_stacks(rt_path(name)), MANY);
}

static void use_more(void *user)
{
    for (uint32_t i = 0; i < MANY; i++)
        use(200000 + 3 * i);
    exit(0);
}

UNIT_TEST(a_child_goes_on_with_stacks_of_its_own)
{
#ifdef UNDER_TSAN
    skip(); // the sanitizer knows no threads in such a child
#endif
    rt_start("fork-%p.sbt", follow);
    for (uint32_t i = 0; i < MANY; i++)
        use(200000 + i);
    const pid_t child = rt_fork(use_more, NULL);
    for (uint32_t i = 0; i < MANY; i++) // the same numbers, other stacks
        use(200000 + 2 * i);
    rt_wait(child);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(assert_stacks(rt_path_of("fork-%d.sbt", getpid())),
                     2 * MANY);
    assert_int_equal(assert_stacks(rt_path_of("fork-%d.sbt", child)), MANY);
}

static int (*pipes)[2]; // of the child that lives: it has started; it may end

static void dies_before_its_child(void *name)
{
    char byte = 0;
    rt_start((const char *)name, plain);
    for (uint32_t i = 0; i < MANY; i++)
        use(300000 + i);
    if (fork() == 0) {
        (void)!write(pipes[0][1], "", 1);
        close(pipes[1][1]);
        (void)!read(pipes[1][0], &byte, 1);
        _exit(0);
    }
    (void)!read(pipes[0][0], &byte, 1);
    raise(SIGKILL);
}

UNIT_TEST(a_child_that_lives_does_not_keep_the_trace)
{
    char name[] = "orphan.sbt";
    int ends[2][2];
    assert_int_equal(pipe(ends[0]), 0);
    assert_int_equal(pipe(ends[1]), 0);
    pipes = ends;
    rt_wait(rt_fork(dies_before_its_child, name));
    assert_int_equal(assert_stacks(rt_path(name)), MANY);
    for (int i = 0; i < 4; i++)
        close(ends[i / 2][i % 2]);
}

static uint64_t next_seed; // of handlers
static volatile sig_atomic_t handled;

static void on_timer(int number)
{
    const uint64_t first = __atomic_fetch_add(&next_seed, 20, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < 20; i++)
        use(first + i);
    handled++;
}

// Requests one signal soon; the next is requested when it has come.
static void timer(long us)
{
    const struct itimerval once = { { 0, 0 }, { 0, us } };
    setitimer(ITIMER_REAL, &once, NULL);
}

UNIT_TEST(handlers_add_stacks_in_between)
{
    const char *const path = rt_start("handlers.sbt", plain);
    next_seed = 5000000;
    handled = 0;
    signal(SIGALRM, on_timer);
    uint64_t seed = 400000;
    sig_atomic_t asked = -1;
    // Each handler interrupts some instruction of this.
    while (handled < 200 || seed < 400000 + MANY) {
        if (asked != handled && handled < 200) {
            asked = handled; // before: the signal may come at once
            timer(100 + (long)(seed % 97));
        }
        use(seed++);
    }
    signal(SIGALRM, SIG_DFL);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(assert_stacks(path),
                     seed - 400000 + 20 * (uint64_t)handled);
}

static sigjmp_buf away;

static void jump_away(int number)
{
    handled++;
    siglongjmp(away, 1);
}

UNIT_TEST(a_jump_out_of_a_handler_stops_nobody)
{
    const char *const path = rt_start("jumps.sbt", plain);
    volatile uint64_t seed = 600000;
    handled = 0;
    volatile sig_atomic_t asked = -1;
    signal(SIGALRM, jump_away);
    sigsetjmp(away, 1);
    while (handled < 300) { // more often than there are shelves
        if (asked != handled) {
            asked = handled;
            timer(100 + (long)(seed % 97));
        }
        seed++;
        define(seed);
    }
    signal(SIGALRM, SIG_DFL);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_not_equal(use(6000000 + i), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(assert_stacks(path), MANY);
}

enum { THREADS = 8 };

static void *uses_stacks(void *user)
{
    const uint64_t own = *(const uint32_t *)user;
    for (uint64_t i = 0; i < MANY; i++) // half of them are everybody's
        use(i & 1 ? 800000 + i : 900000 + own * MANY + i);
    return NULL;
}

UNIT_TEST(threads_add_the_same_and_others)
{
    pthread_t threads[THREADS];
    uint32_t number[THREADS];
    const char *const path = rt_start("threads.sbt", plain);
    for (uint32_t i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&threads[i], NULL, uses_stacks, &number[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(assert_stacks(path), THREADS * MANY);
}

// The mappings of files with rings and logs, of ended sessions too.
static uint32_t mappings(void)
{
    char line[512];
    uint32_t count = 0;
    FILE *const maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "tracesmith-") != NULL;
    fclose(maps);
    return count;
}

UNIT_TEST(sessions_with_few_stacks_leave_no_memory)
{
    const char *path = NULL;
    uint32_t before = 0;
    for (uint32_t session = 0; session < 30; session++) {
        path = rt_start("short.sbt", plain);
        for (uint32_t i = 0; i < 20; i++)
            use(7000000 + 20 * session + i);
        assert_int_equal(ts_session_stop(), TS_OK);
        // This thread's rings of two sessions stay.
        if (session == 2) before = mappings();
    }
    assert_int_equal(assert_stacks(path), 20);
    assert_int_equal(mappings(), before);
}

static int (*let_go)[2]; // a pipe; children wait for it first of all

// Called in a child before the recorder is.
static void child_waits(void)
{
    char byte;
    if (let_go) (void)!read((*let_go)[0], &byte, 1);
}

static void define_names(const char *session)
{
    char name[256];
    for (int i = 0; i < 5000; i++) { // some blocks of the log
        snprintf(name, sizeof name, "%s, %0200d", session, i);
        assert_int_not_equal(ts_name_define(name), 0);
    }
}

typedef struct range {
    void *start;
    size_t size;
} range;
static range ranges[4096]; // more than there are, of all sessions
static size_t range_count;

static void find_ranges(void)
{
    char line[512];
    unsigned long from, to;
    FILE *const maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (range_count < sizeof ranges / sizeof *ranges &&
           fgets(line, sizeof line, maps))
        if (strstr(line, "tracesmith-") &&
            sscanf(line, "%lx-%lx", &from, &to) == 2)
            ranges[range_count++] =
                (range){ (void *)(uintptr_t)from, (size_t)(to - from) };
    fclose(maps);
}

// Memory of our own where the session's was.
static void take_ranges(void)
{
    for (size_t i = 0; i < range_count; i++) {
        void *const got =
            mmap(ranges[i].start, ranges[i].size, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == ranges[i].start) continue;
        if (got != MAP_FAILED) munmap(got, ranges[i].size);
        ranges[i--] = ranges[--range_count]; // something is still there
    }
    assert_int_not_equal(range_count, 0);
}

static void has_ranges(void *user)
{
    static unsigned char pages[1 << 16];
    for (size_t i = 0; i < range_count; i++)
        RT_CHECK(ranges[i].size / 4096 > sizeof pages ||
                 mincore(ranges[i].start, ranges[i].size, pages) == 0);
}

// The parent's log grows before the child unmaps its part of it.
UNIT_TEST(a_child_lets_go_of_the_log_alone)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    rt_start("long.sbt", plain);
    define_names("long");
    find_ranges();
    assert_int_equal(ts_session_stop(), TS_OK);
    take_ranges();
    rt_start("grows.sbt", plain);
    let_go = &ends;
    const pid_t child = rt_fork(has_ranges, NULL);
    let_go = NULL;
    define_names("grows");
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(rt_wait(child), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    while (range_count) {
        range_count--;
        munmap(ranges[range_count].start, ranges[range_count].size);
    }
    close(ends[0]);
    close(ends[1]);
}

/* ---- Sessions that end under threads ------------------------------------- */

enum { ADDERS = 4, SESSIONS = 8, AT_LEAST = 200, BEYOND = 200 };
static bool add_more;
static uint64_t allowed, added[ADDERS];

static void *adds_stacks(void *user)
{
    const uint64_t own = *(const uint32_t *)user;
    const uint64_t first = 20000000 + own * 4000000;
    while (__atomic_load_n(&add_more, __ATOMIC_RELAXED)) {
        const uint64_t count = __atomic_load_n(&added[own], __ATOMIC_RELAXED);
        if (count == __atomic_load_n(&allowed, __ATOMIC_ACQUIRE)) {
            sched_yield();
            continue;
        }
        use(first + count);
        __atomic_store_n(&added[own], count + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

// Lets each child add stacks and waits until it has added the first of them; it
// goes on with the others.
static void add_stacks(void)
{
    const uint64_t from = allowed;
    __atomic_store_n(&allowed, from + AT_LEAST + BEYOND, __ATOMIC_RELEASE);
    for (int i = 0; i < ADDERS; i++)
        while (__atomic_load_n(&added[i], __ATOMIC_ACQUIRE) < from + AT_LEAST)
            sched_yield();
}

UNIT_TEST(sessions_end_while_threads_add_stacks)
{
    pthread_t threads[ADDERS];
    uint32_t number[ADDERS];
    char name[32];
    __atomic_store_n(&add_more, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < ADDERS; i++) {
        number[i] = i;
        pthread_create(&threads[i], NULL, adds_stacks, &number[i]);
    }
    for (int session = 0; session < SESSIONS; session++) {
        snprintf(name, sizeof name, "under-%d.sbt", session);
        rt_start(name, plain);
        add_stacks();
        assert_int_equal(ts_session_stop(), TS_OK);
    }
    __atomic_store_n(&add_more, false, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < ADDERS; i++)
        pthread_join(threads[i], NULL);
    for (int session = 0; session < SESSIONS; session++) {
        snprintf(name, sizeof name, "under-%d.sbt", session);
        // Late ones of the session before may be there as well.
        assert_in_range(assert_stacks(rt_path(name)), ADDERS * AT_LEAST,
                        ADDERS * (AT_LEAST + 2 * BEYOND));
    }
}

int main(void)
{
    pthread_atfork(NULL, NULL, child_waits); // before the recorder asks for it
    return unit_run(NULL, NULL);
}
