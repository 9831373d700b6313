/*
    What a signal handler does at any instruction of a record.

    The processor stops after each instruction (its trap flag). At the N-th
    instruction the handler does something, once, as a signal could arrive
    there; N goes from the first instruction to the last. All that was recorded
    is read back, in the parent and in its children.
*/
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <sys/syscall.h>
#include <ucontext.h>

// Without threads of the recorder, because there are thousands of sessions.
static const ts_session_desc quiet = { .drain = TS_DRAIN_MANUAL };
static const ts_session_desc follow = { .drain = TS_DRAIN_MANUAL,
                                        .fork = TS_FORK_FOLLOW };

/* ---- Steps -------------------------------------------------------------- */

static struct {
    uint64_t now, last; // instructions so far; the one at which to act
    void (*act)(void);
    bool acted;
} steps;

#ifdef __x86_64__
enum { TRAP = 0x100 };

static bool could_come(const ucontext_t *at) // a signal that is not a fault
{
    return !sigismember(&at->uc_sigmask, SIGUSR1);
}

static void on_step(int number, siginfo_t *info, void *user)
{
    ucontext_t *const at = (ucontext_t *)user;
    if (!could_come(at) || steps.now++ < steps.last) return;
    at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP;
    steps.acted = true;
    const int error = errno;
    steps.act();
    errno = error;
}

// Leaves alone what leaf functions keep below the stack pointer.
static inline void trap(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t"
                     "orq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static inline void trap_no_more(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\t"
        "andq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
}
#endif

// Runs `work`, and `act` at its instruction `last`. False: `work` has fewer.
static bool step(uint64_t last, void (*work)(uint64_t), uint64_t value,
                 void (*act)(void))
{
    steps.now = 0;
    steps.last = last;
    steps.act = act;
    steps.acted = false;
#ifdef __x86_64__
    trap();
    work(value);
    trap_no_more();
#else
    work(value);
#endif
    return steps.acted;
}

static void nothing(uint64_t value)
{
}

static void no_act(void)
{
}

static int can_step(void **state)
{
#ifdef __x86_64__
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
#endif
    return 0;
}

static void need_steps(void)
{
    if (!step(0, nothing, 0, no_act)) skip();
}

/* ---- What is interrupted ------------------------------------------------ */

enum { FRAMES = 2, WARM = 40 };

static uint32_t define(uint64_t seed)
{
    ts_frame_entry frames[FRAMES];
    memset(frames, 0, sizeof frames);
    for (uint32_t i = 0; i < FRAMES; i++)
        frames[i].offset = (seed << 8) + i * 16;
    return ts_stack_define(frames, FRAMES);
}

// An event with a stack and the number of the stack that it must have.
static void stack(uint64_t seed)
{
    const uint32_t number = define(seed);
    const uint64_t now = ts_tick_now();
    const ts_api_call call = {
        .start = now, .end = now, .correlation = seed, .stack = number
    };
    ts_api_call_record(&call);
}

static void define_only(uint64_t seed)
{
    (void)define(seed);
}

static void zone(uint64_t value)
{
    TS_ZONE("stepped");
}

static void counter(uint64_t value) // takes more slots than one
{
    TS_COUNTER("steps", (double)value + 0.5);
}

// So that the slow paths are done: a ring, sites, a block for stacks.
static void warm(uint64_t seed)
{
    zone(0);
    counter(0);
    for (uint64_t i = 0; i < WARM; i++)
        stack(seed + i);
}

typedef struct found {
    size_t zones, counters, stacks;
} found;

// Reads a trace and checks that each event has the stack that it names.
static found read_back(const char *path)
{
    found f = { 0, 0, 0 };
    rt_trace trace = rt_read(path);
    f.zones = rt_rows(&trace, TS_EVENT_ZONE, "stepped");
    f.counters = rt_rows(&trace, TS_EVENT_COUNTER, NULL);
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        const ts_frame_entry *frames;
        if (row->kind != TS_EVENT_API_CALL) continue;
        const uint64_t seed = row->values[TS_COLUMN_CORRELATION];
        const uint32_t number = (uint32_t)row->values[TS_COLUMN_STACK];
        if (ts_reader_stack(trace.reader, number, &frames) != FRAMES ||
            frames[0].offset != seed << 8 ||
            frames[1].offset != (seed << 8) + 16)
            fail_msg("%s: stack %u is not that of %u", path, (unsigned)number,
                     (unsigned)seed);
        f.stacks++;
    }
    assert_int_equal(trace.info->lost, rt_lost(&trace, TS_LOSS_STALE));
    rt_close(&trace);
    return f;
}

/* ---- fork --------------------------------------------------------------- */

static pid_t child;      // 0: this is the one
static uint32_t *go;     // shared: the child may go on
static bool child_waits; // else the parent does

static void fork_here(void)
{
    __atomic_store_n(go, 0, __ATOMIC_RELAXED);
    child = fork();
    if (child < 0) abort();
    if (!child) {
        // Also if the parent does not let it go on.
        alarm(60);
        signal(SIGSEGV, SIG_DFL); // cmocka's would go on with the test
    }
    siginfo_t info;
    while (child && !child_waits &&
           waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0) {}
    while (!child && child_waits && !__atomic_load_n(go, __ATOMIC_ACQUIRE))
        sched_yield();
}

// In the child, after what was interrupted.
static void child_records(const ts_session_desc *own, uint64_t seed)
{
    if (own) {
        ts_session_desc desc = *own;
        desc.path = rt_path("child.sbt");
        stack(seed + 7); // in no session
        RT_CHECK(desc.fork || ts_session_start(&desc) == TS_OK);
    }
    for (uint64_t i = 0; i < 3; i++) {
        zone(0);
        counter(0);
        stack(seed + i % 2);
    }
    for (uint64_t i = 0; own && i < WARM; i++)
        define_only(seed + 10 + i);
    const ts_result result = ts_session_stop();
    RT_CHECK(result == (own ? TS_OK : TS_ERR_STATE)); // nothing began
    _exit(0);
}

// What the child has recorded: three of each; and, if its session began in the
// handler, the interrupted record, unless that had begun before.
static void assert_child(const char *name, size_t more)
{
    const char *const path = rt_path(name);
    const found f = read_back(path);
    if (f.zones - 3 > more || f.counters - 3 > more || f.stacks - 3 > more)
        fail_msg("%s: %zu zones, %zu counters, %zu stacks", name, f.zones,
                 f.counters, f.stacks);
    unlink(path);
}

/*
    Forks at each instruction of some work; every 16th child starts a session.
    With `follows` all children have one, which takes longer: then at every
    seventh instruction, or at each if TS_STEPS is set. Each child records a
    stack as well. Returns the number of children.
*/
static uint64_t forks_of(void (*work)(uint64_t), bool follows, uint64_t seed)
{
    char name[64];
    uint64_t n = 0, at = 0;
    const uint64_t stride = follows && !getenv("TS_STEPS") ? 7 : 1;
    child_waits = follows; // then it goes on first, then last, ...
    for (child = 1; step(at, work, seed, fork_here);
         n++, at += stride, seed += 100) {
        const bool quiet_one = !follows && n % 16 == 3;
        if (!child)
            child_records(follows ? &follow : quiet_one ? &quiet : NULL, seed);
        stack(seed + 51); // where the child goes on, if it does
        define_only(seed + 52);
        __atomic_store_n(go, 1, __ATOMIC_RELEASE);
        const int status = rt_wait(child);
        if (status) fail_msg("the child of step %u: %d", (unsigned)n, status);
        snprintf(name, sizeof name, "steps-%d.sbt", (int)child);
        if (follows) assert_child(name, 1);
        if (quiet_one) assert_child("child.sbt", 0);
        child_waits = !child_waits;
    }
    return n;
}

static void forks(const ts_session_desc *desc, const char *path, uint64_t seed)
{
    need_steps();
    const bool follows = desc == &follow;
    uint64_t zones = 2, counters = 2, stacks = WARM;
    rt_start(path, *desc);
    go = (uint32_t *)rt_shared(sizeof *go);
    warm(seed);
    seed += WARM;
    uint64_t n = forks_of(zone, follows, seed);
    zones += n;
    stacks += n;
    n = forks_of(counter, follows, seed + 1000000);
    counters += n;
    stacks += n;
    n = forks_of(define_only, follows, seed + 2000000);
    assert_in_range(n, 10, 10000);
    stacks += n;
    assert_int_equal(ts_session_stop(), TS_OK);
    const found f = read_back(follows ? rt_path_of("steps-%d.sbt", getpid())
                                      : rt_path("steps.sbt"));
    assert_int_equal(f.zones, zones);
    assert_int_equal(f.counters, counters);
    assert_int_equal(f.stacks, stacks);
    munmap(go, sizeof *go);
}

UNIT_TEST(a_quiet_child_may_begin_at_any_instruction)
{
    forks(&quiet, "steps.sbt", 1u << 20);
}

UNIT_TEST(a_following_child_may_begin_at_any_instruction)
{
    forks(&follow, "steps-%p.sbt", 1u << 28);
}

// The session ends with what the child did last of all.
UNIT_TEST(a_put_that_goes_on_in_a_child_leaves_the_log_alone)
{
    need_steps();
    bool more = true;
    uint64_t seed = UINT64_C(1) << 33;
    go = (uint32_t *)rt_shared(sizeof *go);
    for (uint64_t n = 0; more; n += 5, seed += 100) {
        const char *const path = rt_start("log.sbt", quiet);
        warm(seed);
        child = child_waits = true;
        more = step(n, define_only, seed + WARM, fork_here);
        if (!child) child_records(NULL, seed + WARM);
        for (uint64_t i = 1; i < 5; i++)
            stack(seed + WARM + i);
        __atomic_store_n(go, 1, __ATOMIC_RELEASE);
        if (more) assert_int_equal(rt_wait(child), 0);
        assert_int_equal(ts_session_stop(), TS_OK);
        assert_int_equal(read_back(path).stacks, WARM + 4);
    }
    munmap(go, sizeof *go);
}

/* ---- Sessions ----------------------------------------------------------- */

static uint64_t next_seed;
static uint32_t session;

static const char *session_path(uint32_t number)
{
    return rt_path(number & 1 ? "odd.sbt" : "even.sbt");
}

static void begin_session(void)
{
    ts_session_desc desc = quiet;
    desc.path = session_path(session);
    if (ts_session_start(&desc) != TS_OK) abort();
    warm(next_seed);
    next_seed += WARM;
}

// With new stacks enough that the next session has blocks for them.
static void end_and_begin(void)
{
    if (ts_session_stop() != TS_OK) abort();
    session++;
    begin_session();
}

// Its own records, and up to two that were interrupted: at the begin and at the
// end of the session.
static void assert_session(uint32_t number, void (*work)(uint64_t))
{
    const found f = read_back(session_path(number));
    const size_t zones = work == zone ? 2 : 0;
    assert_in_range(f.zones, 1, 1 + zones);
    assert_int_equal(f.counters, 1);
    assert_int_equal(f.stacks, WARM + (number ? 2 : 0));
}

// Each instruction of some work is the last of a session.
static void sessions_of(void (*work)(uint64_t))
{
    need_steps();
    uint64_t n = 0;
    session = 0;
    next_seed = UINT64_C(1) << 34;
    begin_session();
    for (; step(n, work, next_seed++, end_and_begin); n++) {
        // Both sessions' stacks would collide here if they shared a shelf.
        stack(next_seed++);
        stack(next_seed++);
        assert_session(session - 1, work);
    }
    assert_in_range(n, 20, 10000);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_session(session, work);
}

UNIT_TEST(a_session_may_end_at_any_instruction_of_a_zone)
{
    sessions_of(zone);
}

UNIT_TEST(a_session_may_end_at_any_instruction_of_a_put)
{
    sessions_of(define_only);
}

/* ---- Records ------------------------------------------------------------ */

// The interrupted stack has one number as well.
static void record_here(void)
{
    zone(0);
    counter(0);
    stack(next_seed);
    stack(next_seed + 1);
}

UNIT_TEST(a_handler_may_record_at_any_instruction)
{
    need_steps();
    void (*const works[])(uint64_t) = { zone, counter, define_only };
    uint64_t count[3] = { 0 }, all = 0;
    const char *const path = rt_start("records.sbt", quiet);
    next_seed = UINT64_C(1) << 35;
    warm(next_seed);
    next_seed += WARM;
    for (int i = 0; i < 3; i++) {
        for (; step(count[i], works[i], next_seed, record_here); count[i]++) {
            assert_int_equal(define(next_seed), define(next_seed));
            next_seed += 2;
        }
        all += count[i];
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    const found f = read_back(path);
    assert_int_equal(f.zones, 1 + all + count[0] + 1);
    assert_int_equal(f.counters, 1 + all + count[1] + 1);
    assert_int_equal(f.stacks, WARM + 2 * all);
}

/* ---- Zones -------------------------------------------------------------- */

static void other_zone(void)
{
    TS_ZONE("before");
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

static void die_in_a_zone(void *user)
{
    ts_session_desc desc = quiet;
    desc.path = rt_path("killed.sbt");
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    zone(0);
    other_zone();
    ts_session_flush(); // salvage does not see them in the ring any more
    step(*(const uint64_t *)user, zone, 0, die);
    _exit(0); // it has fewer instructions
}

UNIT_TEST(a_process_killed_at_any_instruction_leaves_no_ended_zone_open)
{
    need_steps();
    uint64_t n = 0, recorded = 0, open = 0;
    for (;; n++) {
        const int status = rt_wait(rt_fork(die_in_a_zone, &n));
        const char *const path = rt_path("killed.sbt");
        if (!WIFSIGNALED(status)) break;
        assert_int_equal(ts_salvage(path, NULL), TS_OK);
        rt_trace trace = rt_read(path);
        const size_t zones = rt_rows(&trace, TS_EVENT_ZONE, "stepped") - 1;
        const size_t left = rt_rows(&trace, TS_EVENT_ZONE_OPEN, "stepped");
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "before"), 1);
        if (rt_rows(&trace, TS_EVENT_ZONE_OPEN, NULL) != left ||
            zones + left > 1 || zones + left < (recorded || open))
            fail_msg("step %u: %zu recorded, %zu open", (unsigned)n, zones,
                     left);
        recorded += zones;
        open += left;
        rt_close(&trace);
        unlink(path);
    }
    assert_in_range(n, 20, 10000);
    assert_in_range(recorded, 1, n);
    assert_in_range(open, 10, n);
}

#ifdef __OPTIMIZE__
enum { MANY = 3000 }; // more than a thread's first ring holds

static void mark_many(void)
{
    for (int i = 0; i < MANY; i++)
        TS_MARK("many");
}
#endif

// A few instructions at which the zone stays open are left: those between the
// look at the thread's ring and the first use of it.
UNIT_TEST(a_handler_may_need_a_larger_ring_at_any_instruction_of_a_zone)
{
#ifdef __OPTIMIZE__
    need_steps();
    bool more = true;
    uint64_t n = 0, open = 0;
    for (; more; n++) {
        const char *const path = rt_start("larger.sbt", quiet);
        zone(0);
        more = step(n, zone, 0, mark_many);
        RT_CHECK(ts_session_flush() == TS_OK);
        rt_trace trace = rt_end(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "stepped"), 2);
        assert_int_equal(rt_rows(&trace, TS_EVENT_MARK, "many"),
                         more ? MANY : 0);
        open += rt_rows(&trace, TS_EVENT_ZONE_OPEN, NULL);
        assert_int_equal(trace.info->lost, 0);
        rt_close(&trace);
    }
    assert_in_range(n, 20, 10000);
    assert_in_range(open, 0, 3);
#else
    skip(); // there are more of them
#endif
}

int main(void)
{
    return unit_run(can_step, NULL);
}
