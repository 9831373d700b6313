/*
    kineto.c - JSON traces of the PyTorch profiler (Kineto)
*/
#include "tools/import/kineto/kineto.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- Recognising -------------------------------------------------------- */

// Recognises an object with traceEvents, or with keys that precede it in such
// files, or an array of objects with a phase.
static bool recognise(import_source *source)
{
    static const char *const marks[] = {
        "\"traceEvents\"",     "\"deviceProperties\"", "\"schemaVersion\"",
        "\"distributedInfo\"", "\"displayTimeUnit\"",  "\"systemTraceEvents\"",
        "\"stackFrames\""
    };
    size_t size, at = 0;
    const uint8_t *const head = import_source_head(source, &size);
    if (size >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3)) at = 3;
    while (at < size && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    if (at == size || (head[at] != '{' && head[at] != '[')) return false;
    if (head[at] == '[') return import_has(head, size, "\"ph\"");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (import_has(head, size, marks[i])) return true;
    return false;
}

/* ---- Common parts of rows ----------------------------------------------- */

/*
    Times are microseconds with up to three decimals, but some files have
    nanoseconds. Unix times in microseconds are below 10^17 until the year 5138;
    those in nanoseconds are above it since 1973.
*/
static bool time_value(kineto_value value, bool *is_ns, int64_t *ns)
{
    if (value.type != KINETO_NUMBER && value.type != KINETO_TEXT) return false;
    size_t digits = 0;
    while (digits < value.size && value.text[digits] >= '0' &&
           value.text[digits] <= '9')
        digits++;
    *is_ns |= digits >= KINETO_NS_DIGITS;
    return kineto_decimal(value.text, value.size, *is_ns ? 0 : 3, ns);
}

bool kineto_time_of(kineto *k, kineto_time *time, bool with_duration)
{
    const kineto_value *const fields = k->row->fields;
    bool is_ns = false;
    time->start_ns = time->duration_ns = 0;
    if (!time_value(fields[KINETO_TS], &is_ns, &time->start_ns)) {
        import_bad(k->job,
                   fields[KINETO_TS].type == KINETO_NONE ? "no_time"
                                                         : "bad_time",
                   IMPORT_NONE);
        return false;
    }
    if (!with_duration) return true;
    if (time_value(fields[KINETO_DUR], &is_ns, &time->duration_ns)) return true;
    import_bad(k->job, "no_duration", time->start_ns);
    return false;
}

uint32_t kineto_number_of(kineto *k, const char *text, size_t size)
{
    kineto_word *const word = &k->words[XXH3_64bits(text, size) % KINETO_WORDS];
    if (size >= sizeof word->text) return import_name(k->job, text, size);
    if (word->number && word->size == size && !memcmp(word->text, text, size))
        return word->number;
    memcpy(word->text, text, size);
    word->size = (uint32_t)size;
    word->number = import_name(k->job, text, size);
    return word->number;
}

uint32_t kineto_category(kineto *k)
{
    const kineto_value cat = k->row->fields[KINETO_CAT];
    return cat.type == KINETO_TEXT ? kineto_number_of(k, cat.text, cat.size)
                                   : 0;
}

uint32_t kineto_process(kineto *k)
{
    int64_t pid;
    return kineto_int(k->row->fields[KINETO_PID], &pid)
               ? import_process(k->job, pid)
               : 0;
}

// Returns the lane of a thread whose process has a text for a number.
static uint32_t thread_of_text(kineto *k, kineto_value pid, int64_t thread)
{
    char name[256];
    const int size =
        snprintf(name, sizeof name, "%.*s, thread %" PRId64,
                 pid.size < 200 ? (int)pid.size : 200, pid.text, thread);
    return import_lane(k->job, 0, name, (size_t)size);
}

uint32_t kineto_thread(kineto *k)
{
    const kineto_value pid = k->row->fields[KINETO_PID];
    const kineto_value tid = k->row->fields[KINETO_TID];
    int64_t process, thread;
    const bool is_process = kineto_int(pid, &process);
    const bool is_thread = kineto_int(tid, &thread);
    if (is_process && is_thread) return import_thread(k->job, process, thread);
    if (is_thread && pid.type == KINETO_TEXT && pid.size)
        return thread_of_text(k, pid, thread);
    const uint32_t parent = is_process ? import_process(k->job, process) : 0;
    const kineto_value name = tid.type == KINETO_TEXT && tid.size ? tid : pid;
    return name.type == KINETO_NONE || !name.size
               ? import_lane(k->job, parent, "no thread", 9)
               : import_lane(k->job, parent, name.text, name.size);
}

enum { NEAR_TIMES = 512 };

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Returns the number after a key and moves *at past it.
static kineto_value number_at(const uint8_t *head, size_t *at, size_t size)
{
    while (*at < size && strchr(" :\"\n", head[*at]) && head[*at])
        ++*at;
    const size_t from = *at;
    while (*at < size && strchr("0123456789.eE+-", head[*at]) && head[*at])
        ++*at;
    return (kineto_value){ KINETO_NUMBER, (const char *)head + from,
                           *at - from };
}

/*
    Sets the reference time to the median of the first times in the file, so
    that a bad time in the first row does not make all other rows bad.
*/
static void find_near_time(kineto *k)
{
    int64_t times[NEAR_TIMES];
    size_t size, count = 0;
    const uint8_t *const head = import_source_head(k->job->source, &size);
    for (size_t i = 0; i + 5 < size && count < NEAR_TIMES;) {
        if (head[i++] != '"' || memcmp(head + i, "ts\"", 3)) continue;
        i += 3;
        bool is_ns = false;
        const kineto_value ts = number_at(head, &i, size);
        count += time_value(ts, &is_ns, &times[count]) && times[count];
    }
    if (!count) return;
    qsort(times, count, sizeof *times, compare_times);
    import_near(k->job, times[count / 2]);
}

/* ---- What has no place -------------------------------------------------- */

void kineto_no_place(kineto *k, const char *key, size_t size)
{
    kineto_value cat = k->row->fields[KINETO_CAT];
    if (cat.type != KINETO_TEXT) cat = k->row->fields[KINETO_PH];
    const size_t cat_size = cat.type == KINETO_TEXT ? cat.size : 0;
    const uint64_t hash =
        XXH3_64bits_withSeed(key, size, XXH3_64bits(cat.text, cat_size));
    size_t at = hash % KINETO_UNUSED;
    while (k->unused[at].count && k->unused[at].hash != hash)
        at = (at + 1) % KINETO_UNUSED;
    kineto_unused *const u = &k->unused[at];
    if (!u->count && k->unused_count == KINETO_UNUSED - 1) {
        import_unowned(k->job, "others", 6);
        return;
    }
    k->unused_count += !u->count;
    u->hash = hash;
    if (!u->count++)
        snprintf(u->text, sizeof u->text, "%.*s: %.*s",
                 cat_size > 30 ? 30 : (int)cat_size, cat_size ? cat.text : "",
                 size > 60 ? 60 : (int)size, key);
}

void kineto_no_place_but(kineto *k, const char *const *known)
{
    for (size_t i = 0; i < k->row->arg_count; i++) {
        const kineto_arg *const arg = &k->row->args[i];
        const char *const *name = known;
        while (*name && (strlen(*name) != arg->key_size ||
                         memcmp(*name, arg->key, arg->key_size)))
            name++;
        if (!*name) kineto_no_place(k, arg->key, arg->key_size);
    }
}

/* ---- Rows by kind ------------------------------------------------------- */

typedef enum category {
    CAT_ZONE, // unknown categories are zones of the host
    CAT_KERNEL,
    CAT_MEMCPY,
    CAT_MEMSET,
    CAT_SYNC,
    CAT_RECORD,
    CAT_CALL,
    CAT_GPU_ZONE,
    CAT_OVERHEAD,
    CAT_SPAN
} category;

// Compares categories, ignoring case and blanks, which differ between versions.
static bool same(kineto_value cat, const char *name)
{
    if (cat.size != strlen(name)) return false;
    for (size_t i = 0; i < cat.size; i++) {
        const char c = cat.text[i] == ' ' || cat.text[i] == '-'
                           ? '_'
                           : (char)(cat.text[i] | 0x20);
        if (c != name[i] && !(cat.text[i] == '_' && name[i] == '_'))
            return false;
    }
    return true;
}

static category category_of(kineto_value cat)
{
    static const struct {
        const char *name;
        category is;
    } names[] = {
        { "kernel", CAT_KERNEL },
        { "concurrent_kernel", CAT_KERNEL },
        { "mtia_ccp_events", CAT_KERNEL },
        { "hpu_op", CAT_KERNEL },
        { "gpu_memcpy", CAT_MEMCPY },
        { "memcpy", CAT_MEMCPY },
        { "gpu_memset", CAT_MEMSET },
        { "memset", CAT_MEMSET },
        { "cuda_sync", CAT_SYNC },
        { "cuda_event", CAT_RECORD },
        { "cuda_runtime", CAT_CALL },
        { "cuda_driver", CAT_CALL },
        { "hip_runtime", CAT_CALL },
        { "runtime", CAT_CALL },
        { "driver", CAT_CALL },
        { "xpu_runtime", CAT_CALL },
        { "mtia_runtime", CAT_CALL },
        { "privateuse1_runtime", CAT_CALL },
        { "privateuse1_driver", CAT_CALL },
        { "gpu_user_annotation", CAT_GPU_ZONE },
        { "overhead", CAT_OVERHEAD },
        { "trace", CAT_SPAN },
    };
    if (cat.type != KINETO_TEXT) return CAT_ZONE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same(cat, names[i].name)) return names[i].is;
    return CAT_ZONE;
}

bool kineto_is_zone(const kineto *k)
{
    return category_of(k->row->fields[KINETO_CAT]) == CAT_ZONE;
}

void kineto_take_complete(kineto *k)
{
    switch (category_of(k->row->fields[KINETO_CAT])) {
    case CAT_KERNEL: kineto_take_gpu(k, TS_EVENT_KERNEL); break;
    case CAT_MEMCPY: kineto_take_gpu(k, TS_EVENT_MEMCPY); break;
    case CAT_MEMSET: kineto_take_gpu(k, TS_EVENT_MEMSET); break;
    case CAT_SYNC: kineto_take_sync(k); break;
    case CAT_RECORD: kineto_take_record(k); break;
    case CAT_CALL: kineto_take_call(k); break;
    case CAT_GPU_ZONE: kineto_take_gpu_zone(k); break;
    case CAT_OVERHEAD: kineto_take_overhead(k); break;
    case CAT_SPAN: kineto_take_span(k); break;
    case CAT_ZONE:
        if (!kineto_take_ascend(k)) kineto_take_zone(k);
        break;
    }
}

// Counts a row of a phase of Chrome that SBT has no place for, by its name.
static void leave_out(kineto *k, char phase)
{
    static const struct {
        char phase;
        const char *name;
    } names[] = {
        { 'P', "samples (phase P)" },
        { 'N', "objects (phases N, O, D)" },
        { 'O', "objects (phases N, O, D)" },
        { 'D', "objects (phases N, O, D)" },
        { 'V', "memory dumps (phases V, v)" },
        { 'v', "memory dumps (phases V, v)" },
        { 'c', "clock synchronisation (phase c)" },
        { '(', "contexts (phases (, ))" },
        { ')', "contexts (phases (, ))" },
        { '=', "links of ids (phase =)" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].phase == phase) {
            import_unowned(k->job, names[i].name, strlen(names[i].name));
            return;
        }
    kineto_no_place(k, "phase", 5);
}

static void take_event(kineto *k)
{
    const kineto_value ph = k->row->fields[KINETO_PH];
    k->job->rows++;
    if (ph.type != KINETO_TEXT || ph.size != 1) {
        import_bad(k->job, "no_phase", IMPORT_NONE);
        return;
    }
    if (strchr("Xi", ph.text[0]) && kineto_take_sbt0(k)) return;
    switch (ph.text[0]) {
    case 'X': kineto_take_complete(k); break;
    case 'B': kineto_take_begin(k); break;
    case 'E': kineto_take_end(k); break;
    case 'S':
    case 'b': kineto_take_span_begin(k); break;
    case 'F':
    case 'e': kineto_take_span_end(k); break;
    case 'T':
    case 'p':
    case 'n': kineto_take_span_step(k); break;
    case 'R':
    case 'i':
    case 'I': kineto_take_instant(k); break;
    case 's':
    case 't':
    case 'f': kineto_take_flow(k); break;
    case 'C': kineto_take_counter(k); break;
    case 'M': kineto_take_label(k); break;
    default: leave_out(k, ph.text[0]);
    }
}

void kineto_take(kineto *k)
{
    if (k->row->place == KINETO_EVENT)
        take_event(k);
    else
        kineto_take_metadata(k);
}

/* ---- The format --------------------------------------------------------- */

static bool import(import_job *job)
{
    kineto *const k = calloc(1, sizeof *k);
    if (!k) return import_out_of_memory(job);
    k->job = job;
    find_near_time(k);
    bool ok = kineto_parse(k);
    kineto_pairs_end(k);
    if (k->old.job && !sbt0_end(&k->old)) ok = false;
    if (ok) kineto_end(k);
    free(k->labels);
    free(k->streams);
    cli_map_close(&k->stream_of);
    cli_map_close(&k->npus);
    free(k);
    return ok;
}

const import_format import_kineto = {
    .name = "kineto",
    .title = "PyTorch profiler JSON (Kineto), Chrome JSON",
#ifndef TRACESMITH_YAJL
    .missing = "yajl",
#endif
    .recognise = recognise,
    .import = import,
};
