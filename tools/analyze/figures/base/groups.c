/*
    groups.c - the operations of a replay, grouped by kind and name
*/
#include "tools/analyze/figures/base/groups.h"

const char *names_direction(uint64_t copy_type)
{
    static const char *const texts[] = { "copy",           "host to device",
                                         "device to host", "device to device",
                                         "host to host",   "peer to peer" };
    return texts[copy_type < sizeof texts / sizeof *texts ? copy_type : 0];
}

// Returns the group of a kind and text; a new group gets `first`. Returns
// CLI_NONE if memory runs out.
static uint32_t group_of_text(names_index *n, ts_event_kind kind, ts_text text,
                              uint32_t first)
{
    const uint64_t hash = cli_hash_join(cli_hash(text.text, text.size), kind);
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&n->texts, hash, &i)) != CLI_NONE;) {
        const names_group *const g = &n->groups[at];
        if (g->kind == kind && g->text.size == text.size &&
            !memcmp(g->text.text, text.text, text.size))
            return at;
    }
    if (!cli_grow(&n->groups, &n->room, n->count + 1, sizeof *n->groups) ||
        !cli_index_add(&n->texts, hash, (uint32_t)n->count))
        return CLI_NONE;
    n->groups[n->count] = (names_group){ kind, text, first, 0, 0 };
    return (uint32_t)n->count++;
}

static ts_text text_of(const ts_replay *replay, const ts_operation *op)
{
    const ts_reader *const reader = ts_replay_reader(replay, op->file);
    if (op->kind == TS_EVENT_ZONE)
        return ts_reader_site_name(reader, op->label);
    if (op->kind == TS_EVENT_API_CALL) return ts_reader_name(reader, op->label);
    if (op->kind != TS_EVENT_MEMCPY) return ts_operation_label(reader, op);
    const char *const direction = names_direction(op->label);
    const ts_text text = { direction, strlen(direction) };
    return text;
}

// Returns the group by the file's own label, which is cached.
static uint32_t group_of(names_index *n, const ts_replay *replay,
                         const ts_operation *op, uint32_t index)
{
    const uint64_t key = (uint64_t)op->file << 40 |
                         (uint64_t)(op->kind & 0xFF) << 32 | op->label;
    const uint32_t known = cli_map_row(&n->labels, key);
    if (known != CLI_NONE) return known;
    const uint32_t group =
        group_of_text(n, op->kind, text_of(replay, op), index);
    return group != CLI_NONE && cli_map_set(&n->labels, key, group) ? group
                                                                    : CLI_NONE;
}

uint32_t names_add(names_index *n, const ts_replay *replay, uint32_t file,
                   ts_event_kind kind, uint32_t id)
{
    const ts_operation op = { .kind = kind, .file = file, .label = id };
    return group_of(n, replay, &op, TS_NODE_NONE);
}

bool names_open(names_index *n, const ts_replay *replay)
{
    memset(n, 0, sizeof *n);
    n->op_count = ts_replay_graph(replay).operation_count;
    n->of = malloc((n->op_count + 1) * sizeof *n->of);
    if (!n->of) return false;
    ts_operation op;
    for (uint32_t i = 0; i < n->op_count; i++) {
        if (!ts_replay_operation(replay, i, &op)) return false;
        const uint32_t group = group_of(n, replay, &op, i);
        if (group == CLI_NONE) return false;
        n->of[i] = group;
        n->groups[group].count++;
        n->groups[group].work_ns += op.recorded_end_ns - op.recorded_start_ns;
    }
    return true;
}

void names_close(names_index *n)
{
    if (!n->borrowed) free(n->of);
    free(n->groups);
    cli_index_close(&n->texts);
    cli_map_close(&n->labels);
    memset(n, 0, sizeof *n);
}

/* ---- Zones that only wait ------------------------------------------------ */

static bool is_one_of(ts_text text, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == text.size &&
            !memcmp(text.text, *words, text.size))
            return true;
    return false;
}

// Returns the text after the last occurrence of `mark`; empty if there is none.
static ts_text after_last(ts_text text, const char *mark)
{
    const size_t size = strlen(mark);
    for (size_t at = text.size; at-- > 0;)
        if (text.size - at >= size && !memcmp(text.text + at, mark, size))
            return (ts_text){ text.text + at + size, text.size - at - size };
    return (ts_text){ "", 0 };
}

static ts_text up_to(ts_text text, char end)
{
    const char *const at = memchr(text.text, end, text.size);
    return at ? (ts_text){ text.text, (size_t)(at - text.text) } : text;
}

// Whether a zone such as "a/b/queue.py(171): get" is a function of Python's
// library that waits.
static bool waits_in_python(ts_text zone)
{
    static const char *const files[] = { "threading.py",
                                         "queue.py",
                                         "queues.py",
                                         "connection.py",
                                         "selectors.py",
                                         "subprocess.py",
                                         "popen_fork.py",
                                         "process.py",
                                         "_base.py",
                                         "synchronize.py",
                                         NULL };
    static const char *const functions[] = { "wait",
                                             "_wait",
                                             "wait_for",
                                             "join",
                                             "_wait_for_tstate_lock",
                                             "get",
                                             "put",
                                             "poll",
                                             "_poll",
                                             "select",
                                             "recv",
                                             "recv_bytes",
                                             "_recv",
                                             "_recv_bytes",
                                             "result",
                                             "acquire",
                                             "_acquire_restore",
                                             "__enter__",
                                             NULL };
    const ts_text function = after_last(zone, "): ");
    const ts_text path = up_to(zone, '(');
    const ts_text base = after_last(path, "/");
    return function.size && is_one_of(function, functions) &&
           is_one_of(base.size ? base : path, files);
}

// Whether a zone is a builtin that waits: "<built-in method acquire of
// _thread.lock object at 0x7f>", "<built-in function sleep>".
static bool waits_in_builtin(ts_text zone)
{
    static const char *const words[] = { "acquire", "sleep", "select",
                                         "poll",    "wait",  "epoll_wait",
                                         "waitpid", "wait4", NULL };
    static const char method[] = "<built-in method ";
    static const char function[] = "<built-in function ";
    const size_t size =
        zone.size > sizeof method &&
                !memcmp(zone.text, method, sizeof method - 1)
            ? sizeof method - 1
        : zone.size > sizeof function &&
                !memcmp(zone.text, function, sizeof function - 1)
            ? sizeof function - 1
            : 0;
    const ts_text rest = { zone.text + size, zone.size - size };
    return size && is_one_of(up_to(up_to(rest, ' '), '>'), words);
}

bool names_waits(ts_text zone)
{
    static const char *const functions[] = { "futex",
                                             "poll",
                                             "ppoll",
                                             "select",
                                             "pselect",
                                             "epoll_wait",
                                             "epoll_pwait",
                                             "nanosleep",
                                             "clock_nanosleep",
                                             "usleep",
                                             "sleep",
                                             "pause",
                                             "sem_wait",
                                             "sem_timedwait",
                                             "pthread_join",
                                             "pthread_cond_wait",
                                             "pthread_cond_timedwait",
                                             "pthread_cond_clockwait",
                                             "pthread_barrier_wait",
                                             "waitpid",
                                             "wait4",
                                             "sigwait",
                                             NULL };
    return is_one_of(zone, functions) || waits_in_python(zone) ||
           waits_in_builtin(zone);
}
