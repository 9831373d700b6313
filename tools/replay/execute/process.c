/*
    process.c - executes operations in a process of their own

    Kernels are foreign code: they may crash, hang or write anywhere. So a child
    process runs them and writes each result into shared memory. The parent
    watches it; if an operation ends the child, the parent starts another one
    with the next operation.
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/replay/execute/execute.h"

typedef struct shared {
    uint32_t next; // position of the current or next operation
    uint32_t opened,
        refused; // refused: the executor cannot run all concurrently
    char why[200];
    ts_execution_whole whole;
    execute_confined confined;
    ts_execution_item items[];
} shared;

// In the child: the operations in order.
static ts_execution_item *items;
static size_t item_count;

// Signal handler of the child: notes the address and ends the process.
static void on_fault(int signal, siginfo_t *info, void *context)
{
    size_t at = 0;
    (void)signal;
    (void)context;
    while (at < item_count &&
           !__atomic_load_n(&items[at].running, __ATOMIC_ACQUIRE))
        at++;
    if (at < item_count) items[at].fault_address = (uintptr_t)info->si_addr;
    _exit(2);
}

static void watch_faults(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags = SA_SIGINFO };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

// Whether the device is lost for this process. A kernel that accesses invalid
// memory ends the process, or the executor reports it.
static bool is_lost(const ts_execution_item *item)
{
    return item->reason == TS_REASON_TIMEOUT ||
           item->reason == TS_REASON_ESCAPE;
}

// Makes the kernel's OOM killer choose this process, and not the parent, which
// reports the results.
static void go_first(void)
{
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, "1000", 4);
    close(fd);
}

// The operations of one child and their dependencies.
typedef struct process_part {
    const size_t *captures;
    size_t count;
    bool chain;
    execute_edges edges;
} process_part;

static void run_combined(const execute_job *job, shared *s,
                         const process_part *part, ts_execution *e)
{
    s->refused =
        ts_execution_run_concurrent(e, part->edges.edges, part->edges.count,
                                    job->options->as_graph, s->items, &s->whole,
                                    s->why, sizeof s->why) != TS_OK;
    __atomic_store_n(&s->next, (uint32_t)part->count, __ATOMIC_RELEASE);
}

static void child(const execute_job *job, shared *s, const process_part *part)
{
    ts_execution_desc desc = job->desc;
    ts_execution *e;
    desc.chain = part->chain;
    prctl(PR_SET_PDEATHSIG, SIGKILL);   // else a hanging child would remain
    dup2(STDERR_FILENO, STDOUT_FILENO); // stdout is for the report
    items = s->items;
    item_count = part->count;
    watch_faults();
    go_first();
    execute_confine(job, &s->confined);
    if (ts_execution_open(&e, job->reader, part->captures, part->count, &desc,
                          s->why, sizeof s->why) != TS_OK)
        _exit(1);
    __atomic_store_n(&s->opened, 1, __ATOMIC_RELEASE);
    if (job->options->overlap) run_combined(job, s, part, e);
    for (uint32_t i = s->next; i < part->count; i++) {
        const ts_execution_item *const item = &s->items[i];
        ts_execution_run(e, i, &s->items[i]);
        __atomic_store_n(&s->next, i + 1, __ATOMIC_RELEASE);
        if (is_lost(item)) _exit(0);
        if (item->diverged && job->options->stop_at_first) _exit(0);
    }
    _exit(0);
}

// How often the kernel has killed a process because memory ran out; -1: not
// known. Source: /proc/vmstat of Linux 4.13 and later.
static int64_t count_oom_kills(void)
{
    FILE *const file = fopen("/proc/vmstat", "r");
    char line[128];
    int64_t count = -1;
    while (file && count < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "oom_kill %" SCNd64, &count) != 1) count = -1;
    if (file) fclose(file);
    return count;
}

// How a child ended.
typedef struct process_end {
    int status;
    bool late;            // it exceeded its time and was killed
    int64_t oom_kills[2]; // counts before its start and after its end
} process_end;

// A number that changes when an operation or part has finished. Concurrent
// operations first run one by one, then in parts.
static uint64_t progress(const shared *s, size_t count)
{
    const uint32_t next = __atomic_load_n(&s->next, __ATOMIC_ACQUIRE);
    const uint32_t runs =
        next < count ? __atomic_load_n(&s->items[next].runs, __ATOMIC_ACQUIRE)
                     : 0;
    return ((uint64_t)next << 32) + runs +
           __atomic_load_n(&s->whole.completed, __ATOMIC_ACQUIRE) +
           __atomic_load_n(&s->whole.parts, __ATOMIC_RELAXED);
}

// Waits for a child; kills it if it makes no progress for longer than an
// operation may take.
static process_end watch(const execute_job *job, const shared *s, size_t count,
                         pid_t pid)
{
    const uint64_t own = job->desc.timeout_ms ? job->desc.timeout_ms : 10000;
    const ts_execution_whole *const whole = &s->whole;
    const struct timespec pause = { 0, 1000000 };
    uint64_t since = cli_now_ns();
    uint64_t before = UINT64_MAX;
    process_end end = { .oom_kills = { count_oom_kills() } };
    while (waitpid(pid, &end.status, WNOHANG) == 0) {
        const uint64_t at = progress(s, count);
        const uint64_t all =
            __atomic_load_n(&whole->limit_ms, __ATOMIC_ACQUIRE);
        const uint64_t limit = own > all ? own : all;
        if (at != before) since = cli_now_ns();
        before = at;
        end.late |= (cli_now_ns() - since) / 1000000 > limit + 20000;
        if (end.late) kill(pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    end.oom_kills[1] = count_oom_kills();
    return end;
}

// Sets the result of an operation whose process was killed from outside.
static void settle_killed(ts_execution_item *item, const process_end *end)
{
    const bool known = end->oom_kills[0] >= 0 && end->oom_kills[1] >= 0;
    const bool oom = known && end->oom_kills[0] != end->oom_kills[1];
    item->reason =
        oom || !known ? TS_REASON_NO_MEMORY : TS_REASON_DEVICE_FAILED;
    snprintf(item->why, sizeof item->why,
             oom ? "the system killed its process because memory ran out"
             : known
                 ? "its process was killed, not because memory ran out"
                 : "its process was killed, possibly because memory ran out");
}

// Sets the result of the operation that was running when a child ended.
static void settle(ts_execution_item *item, process_end end)
{
    const bool killed =
        WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL;
    item->outcome = TS_OUTCOME_DECLINED;
    item->level = 0;
    item->reason = killed && end.late ? TS_REASON_TIMEOUT
                   : item->running    ? TS_REASON_ESCAPE
                                      : TS_REASON_DEVICE_FAILED;
    if (killed && !end.late) settle_killed(item, &end);
}

// Sets the results when a child with concurrent operations ended: any of the
// running ones may be the cause, and earlier results of the others do not
// count.
static void settle_all(shared *s, size_t count, process_end end)
{
    for (; s->next < count; s->next++) {
        ts_execution_item *const item = &s->items[s->next];
        const ts_execution_item left = { .running = item->running,
                                         .fault_address = item->fault_address };
        *item = left;
        settle(item, end);
    }
}

static void decline_rest(shared *s, size_t count)
{
    for (; s->next < count; s->next++) {
        s->items[s->next].outcome = TS_OUTCOME_DECLINED;
        s->items[s->next].reason = TS_REASON_DEVICE_FAILED;
    }
}

// Whether a child ended by itself before it had finished.
static bool stopped(const execute_job *job, const shared *s, uint32_t before)
{
    if (s->next <= before) return false;
    const ts_execution_item *const last = &s->items[s->next - 1];
    return is_lost(last) || (job->options->stop_at_first && last->diverged);
}

// Whether another child should continue after this one.
static bool go_on(const execute_job *job, const shared *s, bool chain)
{
    const ts_execution_item *const last = &s->items[s->next - 1];
    if (job->options->stop_at_first && last->diverged) return false;
    return !chain;
}

static bool refuse(execute_job *job, const char *why)
{
    cli_error(job->replay->tool, job->replay->path, "%s", why);
    job->closed = true;
    return false;
}

// Reports that the device could not be opened. Source: the error codes of
// cuInit, CUDA_ERROR_OPERATING_SYSTEM among them, "OS call failed".
static bool refuse_device(execute_job *job, const shared *s)
{
    char text[sizeof s->why + 128];
    const bool confined = s->confined.files || s->confined.calls;
    const bool system = strstr(s->why, "OPERATING_SYSTEM") != NULL;
    snprintf(text, sizeof text, "%s%s",
             *s->why ? s->why : "cannot open the device",
             confined && system ? "; its driver may need operations that the "
                                  "sandbox forbids (docs/security.md): try "
                                  "--no-confine"
                                : "");
    return refuse(job, text);
}

static bool run(execute_job *job, shared *s, const process_part *part)
{
    const size_t count = part->count;
    const bool chain = part->chain;
    while (s->next < count) {
        const uint32_t before = s->next;
        s->opened = 0;
        fflush(NULL);
        const pid_t pid = fork();
        if (pid < 0) {
            cli_error(job->replay->tool, NULL, "cannot start a process: %s",
                      strerror(errno));
            return false;
        }
        if (!pid) child(job, s, part);
        const process_end end = watch(job, s, count, pid);
        if (!s->opened) return refuse_device(job, s);
        if (s->refused) return refuse(job, s->why);
        if (s->next > count)
            s->next = (uint32_t)count; // overwritten by a kernel
        // Code that calls exit() ends the child like a crash.
        if (job->options->overlap) settle_all(s, count, end);
        if (s->next < count && !stopped(job, s, before))
            settle(&s->items[s->next++], end);
        if (s->next < count && !go_on(job, s, chain)) {
            if (chain && !s->items[s->next - 1].diverged)
                decline_rest(s, count);
            break;
        }
    }
    return true;
}

// FNV-1a over the results of all operations.
static uint64_t mix(uint64_t digest, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        digest = (digest ^ (value >> 8 * i & 0xFF)) * UINT64_C(1099511628211);
    return digest;
}

// Sums the recorded times of the executed operations.
static void sum_times(execute_job *job, size_t from, size_t to)
{
    const size_t captures = ts_reader_capture_count(job->reader);
    bool *const ran = calloc(captures + 1, sizeof *ran);
    int64_t first = INT64_MAX, last = INT64_MIN;
    ts_operation op;
    job->work_ns = job->span_ns = 0;
    for (size_t i = from; ran && i < to; i++)
        if (job->rows[i].item.outcome == TS_OUTCOME_EXECUTED)
            ran[job->rows[i].capture] = true;
    for (size_t i = from; ran && i < to; i++) {
        const execute_row *const row = &job->rows[i];
        if (row->of == EXECUTE_NONE || !ran[row->of] ||
            !ts_replay_operation(job->replay->replay, row->operation, &op))
            continue;
        job->work_ns += op.recorded_end_ns - op.recorded_start_ns;
        if (op.recorded_start_ns < first) first = op.recorded_start_ns;
        if (op.recorded_end_ns > last) last = op.recorded_end_ns;
    }
    if (last >= first) job->span_ns = last - first;
    free(ran);
}

// Adds the result of one row.
static void add_row(execute_job *job, const execute_row *row)
{
    const ts_execution_item *const item = &row->item;
    if (row->capture == EXECUTE_NONE) {
        job->left_out[item->reason % TS_REASON_LIMIT]++;
        return;
    }
    job->captured++;
    job->not_run += item->outcome == TS_OUTCOME_NONE;
    job->executed += item->outcome == TS_OUTCOME_EXECUTED;
    job->substituted += item->outcome == TS_OUTCOME_SUBSTITUTED;
    job->declined += item->outcome == TS_OUTCOME_DECLINED;
    if (item->outcome == TS_OUTCOME_DECLINED)
        job->reasons[item->reason % TS_REASON_LIMIT]++;
    if (item->outcome != TS_OUTCOME_NONE) job->levels[item->level % 3]++;
    job->diverged += item->diverged;
    job->unstable += item->unstable;
    job->escaped += item->reason == TS_REASON_ESCAPE;
    job->compared += item->compared;
    job->patched += item->patched;
    job->patched_different += item->patched_different;
    job->timed_out |= item->reason == TS_REASON_TIMEOUT;
    if (item->outcome == TS_OUTCOME_EXECUTED)
        job->digest = mix(job->digest, item->digest);
}

static void sum_up(execute_job *job, size_t from, size_t to)
{
    const bool all = from == 0 && to == job->count;
    ts_capture c;
    sum_times(job, from, to);
    job->captured = job->declined = all ? job->missing : 0;
    job->executed = job->substituted = job->not_run = 0;
    job->order = job->nodes = job->parts = 0;
    job->diverged = job->unstable = job->escaped = 0;
    job->compared = job->patched = job->patched_different = 0;
    memset(job->levels, 0, sizeof job->levels);
    memset(job->reasons, 0, sizeof job->reasons);
    memset(job->left_out, 0, sizeof job->left_out);
    job->reasons[TS_REASON_ROW_MISSING] = job->declined;
    job->levels[0] = job->declined;
    job->timed_out = false;
    job->first = job->count;
    job->digest = UINT64_C(14695981039346656037);
    for (size_t i = from; i < to; i++) {
        const execute_row *const row = &job->rows[i];
        job->order += row->order;
        const bool graph = row->piece &&
                           ts_reader_capture(job->reader, row->of, &c) &&
                           c.head.kind == TS_EVENT_GRAPH_LAUNCH;
        job->nodes += graph;
        job->parts += row->piece && !graph;
        if (execute_is_silent(row)) continue;
        add_row(job, row);
        if (row->item.diverged && job->first == job->count) job->first = i;
    }
}

// Checks that each captured operation is counted exactly once. If not, the
// report is wrong, for example because a kernel wrote into the shared results.
static bool adds_up(const execute_job *job, size_t from, size_t to)
{
    const size_t captures = ts_reader_capture_count(job->reader);
    bool *const seen = calloc(captures + 1, sizeof *seen);
    bool ok = seen && job->captured == job->executed + job->substituted +
                                           job->declined + job->not_run;
    for (size_t i = from; ok && i < to; i++) {
        const uint32_t capture = job->rows[i].capture;
        if (capture == EXECUTE_NONE) continue;
        ok = capture < captures && !seen[capture];
        if (ok) seen[capture] = true;
    }
    free(seen);
    if (!ok)
        cli_error(job->replay->tool, job->replay->path,
                  "the results of the captured operations are inconsistent: a "
                  "kernel overwrote them, or ts-replay has a bug");
    return ok;
}

// Executes rows of one process of the record. *next: the first row of the next
// process.
static bool run_rows(execute_job *job, size_t from, size_t to, bool chain,
                     bool *next)
{
    size_t count = 0, at = 0;
    const size_t size =
        sizeof(shared) + (to - from + 1) * sizeof(ts_execution_item);
    size_t *const captures = calloc(to - from + 1, sizeof *captures);
    shared *const s = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const bool have = captures && s != MAP_FAILED;
    if (!have) cli_out_of_memory(job->replay->tool);
    for (size_t i = from; have && i < to; i++)
        if (job->rows[i].capture != EXECUTE_NONE)
            captures[count++] = job->rows[i].capture;
    process_part part = {
        captures, count, chain || job->options->overlap, { NULL, 0 }
    };
    bool ok = have;
    if (ok && job->options->overlap)
        ok = execute_edges_find(job, from, to, &part.edges);
    ok = ok && run(job, s, &part);
    if (ok) execute_whole_add(job, &s->whole);
    if (ok) job->confined = s->confined;
    execute_edges_free(job, &part.edges);
    for (size_t i = from; ok && i < to; i++) {
        if (job->rows[i].capture == EXECUTE_NONE) continue;
        job->rows[i].item = s->items[at++];
        *next &= !job->options->stop_at_first || !job->rows[i].item.diverged;
    }
    if (s != MAP_FAILED) munmap(s, size);
    free(captures);
    return ok;
}

// The process of a row in a merged trace: see docs/sbt-format.md, 13.
static uint64_t part_of(const execute_job *job, size_t row, uint64_t before)
{
    ts_capture c;
    return job->rows[row].capture != EXECUTE_NONE &&
                   ts_reader_capture(job->reader, job->rows[row].capture, &c)
               ? c.head.order >> 48
               : before;
}

// Recorded processes use the same addresses for different memory, so each is
// executed separately.
bool execute_rows(execute_job *job, size_t from, size_t to, bool chain)
{
    bool ok = true, next = true;
    for (size_t first = from; ok && next && first < to;) {
        const uint64_t part = part_of(job, first, 0);
        size_t end = first + 1;
        while (end < to && part_of(job, end, part) == part)
            end++;
        ok = run_rows(job, first, end, chain, &next);
        first = end;
    }
    if (ok) sum_up(job, from, to);
    return ok && adds_up(job, from, to);
}
