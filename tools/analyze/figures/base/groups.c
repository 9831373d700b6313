/*
    groups.c - the operations of a replay, grouped by kind and name
*/
#include "tools/analyze/figures/base/groups.h"

// Of groups: the hash of kind and text. Of labels: file, kind and label.
typedef struct names_slot {
    uint64_t key;
    uint32_t group; // plus 1; 0: free
} names_slot;

const char *names_direction(uint64_t copy_type)
{
    static const char *const texts[] = { "copy",           "host to device",
                                         "device to host", "device to device",
                                         "host to host",   "peer to peer" };
    return texts[copy_type < sizeof texts / sizeof *texts ? copy_type : 0];
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t hash_of(ts_event_kind kind, ts_text text)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)kind;
    for (size_t i = 0; i < text.size; i++)
        h = (h ^ (unsigned char)text.text[i]) * UINT64_C(0x100000001B3);
    return mix(h);
}

static void put(names_slot *slots, size_t room, names_slot slot)
{
    size_t at = mix(slot.key) & (room - 1);
    while (slots[at].group)
        at = (at + 1) & (room - 1);
    slots[at] = slot;
}

// Makes room for one more; twice as much as is used.
static bool grow(names_slot **slots, size_t *room, size_t used)
{
    if (2 * (used + 1) <= *room) return true;
    const size_t more = *room ? 2 * *room : 64;
    names_slot *const grown = calloc(more, sizeof *grown);
    if (!grown) return false;
    for (size_t i = 0; i < *room; i++)
        if ((*slots)[i].group) put(grown, more, (*slots)[i]);
    free(*slots);
    *slots = grown;
    *room = more;
    return true;
}

static uint32_t find_group(const names_index *n, uint64_t key,
                           ts_event_kind kind, ts_text text)
{
    for (size_t at = mix(key) & (n->slot_room - 1); n->slots[at].group;
         at = (at + 1) & (n->slot_room - 1)) {
        const names_group *const g = &n->groups[n->slots[at].group - 1];
        if (n->slots[at].key == key && g->kind == kind &&
            g->text.size == text.size &&
            !memcmp(g->text.text, text.text, text.size))
            return n->slots[at].group;
    }
    return 0;
}

static uint32_t add_group(names_index *n, uint64_t key, ts_event_kind kind,
                          ts_text text, uint32_t first)
{
    if (!(n->count & (n->count - 1))) { // a power of two, or none: full
        const size_t room = n->count ? 2 * n->count : 1;
        names_group *const more = realloc(n->groups, room * sizeof *more);
        if (!more) return 0;
        n->groups = more;
    }
    const names_group group = { kind, text, first, 0, 0 };
    n->groups[n->count++] = group;
    const names_slot slot = { key, (uint32_t)n->count };
    put(n->slots, n->slot_room, slot);
    return slot.group;
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

static uint32_t group_of_text(names_index *n, const ts_replay *replay,
                              const ts_operation *op, uint32_t index)
{
    const ts_text text = text_of(replay, op);
    const uint64_t key = hash_of(op->kind, text);
    if (!grow(&n->slots, &n->slot_room, n->count)) return 0;
    const uint32_t found = find_group(n, key, op->kind, text);
    return found ? found : add_group(n, key, op->kind, text, index);
}

// By what the file calls it, which is known after the first time.
static uint32_t group_of(names_index *n, const ts_replay *replay,
                         const ts_operation *op, uint32_t index)
{
    const uint64_t key = (uint64_t)op->file << 40 |
                         (uint64_t)(op->kind & 0xFF) << 32 | op->label;
    if (!grow(&n->labels, &n->label_room, n->label_count)) return 0;
    for (size_t at = mix(key) & (n->label_room - 1); n->labels[at].group;
         at = (at + 1) & (n->label_room - 1))
        if (n->labels[at].key == key) return n->labels[at].group;
    const names_slot slot = { key, group_of_text(n, replay, op, index) };
    if (!slot.group) return 0;
    put(n->labels, n->label_room, slot);
    n->label_count++;
    return slot.group;
}

uint32_t names_add(names_index *n, const ts_replay *replay, uint32_t file,
                   ts_event_kind kind, uint32_t id)
{
    const ts_operation op = { .kind = kind, .file = file, .label = id };
    return group_of(n, replay, &op, TS_NODE_NONE) - 1;
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
        if (!group) return false;
        n->of[i] = group - 1;
        n->groups[group - 1].count++;
        n->groups[group - 1].work_ns +=
            op.recorded_end_ns - op.recorded_start_ns;
    }
    return true;
}

void names_close(names_index *n)
{
    free(n->of);
    free(n->groups);
    free(n->slots);
    free(n->labels);
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

// The text from the last place on where `mark` stands, without it; empty: it
// stands nowhere.
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

// "a/b/queue.py(171): get": a function of Python's library that waits.
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

// "<built-in method acquire of _thread.lock object at 0x7f>", "<built-in
// function sleep>".
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
