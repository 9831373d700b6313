/*
    job.c - a job: its counts, metadata and events
*/
#include "tools/import/tables.h"
#include "tools/import/secret.h"
#include <stdarg.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FAR_NS  (INT64_C(1) << 59) // 18 years
#define NEAR_NS (INT64_C(1) << 62) // its sum with FAR_NS does not overflow

/* ---- Memory ------------------------------------------------------------- */

void *import_array(import_job *job, size_t count, size_t size)
{
    void *const array = calloc(count ? count : 1, size);
    if (!array) job->tables->no_memory = true;
    return array;
}

static bool add_block(import_list *list)
{
    const size_t n = list->block_count;
    if (!cli_grow(&list->blocks, &list->room, n + 1, sizeof *list->blocks))
        return false;
    list->blocks[n] = malloc(IMPORT_BLOCK * list->size);
    list->block_count += list->blocks[n] != NULL;
    return list->blocks[n] != NULL;
}

void *import_list_add(import_job *job, import_list *list)
{
    const size_t in_block = list->count % IMPORT_BLOCK;
    if (!in_block && list->count / IMPORT_BLOCK == list->block_count &&
        !add_block(list)) {
        job->tables->no_memory = true;
        return NULL;
    }
    void *const element = import_list_at(list, list->count++);
    return memset(element, 0, list->size);
}

void *import_list_at(const import_list *list, size_t index)
{
    return (char *)list->blocks[index / IMPORT_BLOCK] +
           index % IMPORT_BLOCK * list->size;
}

void import_list_free(import_list *list)
{
    for (size_t i = 0; i < list->block_count; i++)
        free(list->blocks[i]);
    free(list->blocks);
    list->blocks = NULL;
    list->block_count = list->count = 0;
}

/* ---- Counts ------------------------------------------------------------- */

// Linear search: there are few counters, with short names.
static import_counter *tally(import_tally *t, const char *text, size_t size)
{
    if (size > sizeof t->counters->text - 1)
        size = sizeof t->counters->text - 1;
    t->total++;
    for (size_t i = 0; i < t->count; i++) {
        import_counter *const c = &t->counters[i];
        if (!strncmp(c->text, text, size) && !c->text[size]) {
            c->count++;
            return c;
        }
    }
    // The last counter is for all others. The text may lack a NUL.
    const bool is_others = size == 6 && !memcmp(text, "others", 6);
    if (t->count >= IMPORT_COUNTERS - 1 && !is_others) {
        t->total--;
        return tally(t, "others", 6);
    }
    import_counter *const c = &t->counters[t->count++];
    memcpy(c->text, text, size);
    c->text[size] = 0;
    c->count = 1;
    c->first_ns = INT64_MAX;
    c->last_ns = INT64_MIN;
    return c;
}

static bool is_near(const import_job *job, int64_t time_ns)
{
    int64_t away;
    return !__builtin_sub_overflow(time_ns, job->tables->near_ns, &away) &&
           away <= FAR_NS && away >= -FAR_NS;
}

void import_bad(import_job *job, const char *cause, int64_t time_ns)
{
    import_counter *const c = tally(&job->bad, cause, strlen(cause));
    if (time_ns == IMPORT_NONE || !is_near(job, time_ns)) return;
    if (time_ns < c->first_ns) c->first_ns = time_ns;
    if (time_ns > c->last_ns) c->last_ns = time_ns;
}

// A hostile file may claim any number.
void import_bad_many(import_job *job, const char *cause, uint64_t count)
{
    const uint64_t most = INT64_MAX - job->bad.total;
    if (count > most) count = most;
    tally(&job->bad, cause, strlen(cause))->count += count - 1;
    job->bad.total += count - 1;
}

void import_flaw(import_job *job, const char *cause)
{
    tally(&job->flawed, cause, strlen(cause));
}

void import_unowned(import_job *job, const char *category, size_t size)
{
    tally(&job->unowned, category, size);
}

void import_unowned_many(import_job *job, const char *category, size_t size,
                         uint64_t count)
{
    tally(&job->unowned, category, size)->count += count - 1;
    job->unowned.total += count - 1;
}

void import_estimate(import_job *job, const char *what)
{
    tally(&job->estimated, what, strlen(what));
}

void import_job_part(import_job *job, const import_source *source)
{
    if (cli_grow(&job->parts, &job->part_room, job->part_count + 1,
                 sizeof *job->parts))
        job->parts[job->part_count++] = import_source_file(source);
    else
        job->tables->no_memory = true;
}

void import_near(import_job *job, int64_t time_ns)
{
    if (time_ns > NEAR_NS || time_ns < -NEAR_NS) return;
    job->tables->has_near = true;
    job->tables->near_ns = time_ns;
}

bool import_is_near(import_job *job, int64_t start_ns, int64_t duration_ns)
{
    import_tables *const t = job->tables;
    if (duration_ns < 0) {
        import_bad(job, "reversed_time", start_ns);
        return false;
    }
    if (!t->has_near) import_near(job, start_ns);
    if (!t->has_near || !is_near(job, start_ns) || duration_ns > FAR_NS) {
        import_bad(job, start_ns ? "absurd_time" : "zero_time", IMPORT_NONE);
        return false;
    }
    if (start_ns < job->first_ns) job->first_ns = start_ns;
    if (start_ns + duration_ns > job->last_ns)
        job->last_ns = start_ns + duration_ns;
    return true;
}

/* ---- Metadata, names ---------------------------------------------------- */

uint32_t import_name(import_job *job, const char *text, size_t size)
{
    return ts_writer_name(job->writer, text, size);
}

uint32_t import_site(import_job *job, uint32_t name, uint32_t category)
{
    const ts_site_entry site = { .name = name, .category = category };
    return ts_writer_site(job->writer, &site);
}

uint32_t import_colored_site(import_job *job, uint32_t name, uint32_t category,
                             uint32_t color)
{
    const ts_site_entry site = { .name = name,
                                 .category = category,
                                 .color = color & 0xFFFFFF };
    return ts_writer_site(job->writer, &site);
}

uint32_t import_launch(import_job *job, const ts_launch_entry *launch)
{
    return ts_writer_launch(job->writer, launch);
}

void import_meta_text(import_job *job, uint32_t track, const char *key,
                      const char *text, size_t size)
{
    const ts_text secret =
        import_secret((ts_text){ key, strlen(key) }, (ts_text){ text, size });
    if (secret.size && !job->secret.s[0])
        job->secret = cli_format(
            "%.*s", secret.size < 40 ? (int)secret.size : 40, secret.text);
    ts_writer_metadata(job->writer, track, key, TS_VALUE_TEXT,
                       import_name(job, text, size));
}

void import_meta_int(import_job *job, uint32_t track, const char *key,
                     int64_t value)
{
    ts_writer_metadata(job->writer, track, key, TS_VALUE_INT, (uint64_t)value);
}

void import_meta_double(import_job *job, uint32_t track, const char *key,
                        double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts_writer_metadata(job->writer, track, key, TS_VALUE_DOUBLE, bits);
}

/* ---- Events ------------------------------------------------------------- */

// Converts a time for the writer, whose times are relative to the reference
// time (import_near).
static int64_t near(const import_job *job, int64_t time_ns)
{
    return time_ns - job->tables->near_ns;
}

void import_event(import_job *job, ts_event_kind kind, uint32_t track,
                  int64_t start_ns, int64_t duration_ns,
                  const ts_writer_value *values, size_t count)
{
    if (!import_is_near(job, start_ns, duration_ns)) return;
    job->events[kind]++;
    ts_writer_event(job->writer, kind, track, near(job, start_ns), duration_ns,
                    values, count);
}

void import_event_text(import_job *job, ts_event_kind kind, uint32_t track,
                       int64_t start_ns, int64_t duration_ns,
                       const ts_writer_value *values, size_t count,
                       const char *text, size_t text_size)
{
    if (!import_is_near(job, start_ns, duration_ns)) return;
    job->events[kind]++;
    ts_writer_event_text(job->writer, kind, track, near(job, start_ns),
                         duration_ns, values, count, text, text_size);
}

// Writes zones with equal start and end innermost first, as the writer
// requires.
void import_zones_flush(import_job *job, uint32_t track)
{
    import_track *const t = import_track_of(job, track);
    while (t->held_count) {
        const ts_writer_value site = { TS_COLUMN_SITE,
                                       t->held[--t->held_count] };
        import_event(job, TS_EVENT_ZONE, track, t->held_start_ns,
                     t->held_duration_ns, &site, 1);
    }
}

uint32_t import_zone(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint32_t category,
                     const import_facts *facts)
{
    const uint32_t site = import_site(job, name, category);
    import_zone_at(job, thread, start_ns, duration_ns, site, facts);
    return site;
}

void import_zone_at(import_job *job, uint32_t thread, int64_t start_ns,
                    int64_t duration_ns, uint32_t site,
                    const import_facts *facts)
{
    import_track *const t = import_track_of(job, thread);
    if (!t || !import_is_near(job, start_ns, duration_ns)) return;
    if (start_ns != t->held_start_ns || duration_ns != t->held_duration_ns ||
        t->held_count == sizeof t->held / sizeof *t->held)
        import_zones_flush(job, thread);
    t->held_start_ns = start_ns;
    t->held_duration_ns = duration_ns;
    t->held[t->held_count++] = site;
    import_known_zone zone = { start_ns, start_ns + duration_ns, site, 0 };
    if (facts) {
        import_facts *const known = import_list_add(job, &job->tables->facts);
        if (known) *known = *facts;
        zone.facts = (uint32_t)job->tables->facts.count;
    }
    import_zone_keep(job, t, &zone);
}

static void zone_value(import_job *job, uint32_t thread, int64_t start_ns,
                       uint32_t site, uint32_t name, ts_value_type type,
                       uint64_t value)
{
    const ts_writer_value values[] = { { TS_COLUMN_SITE, site },
                                       { TS_COLUMN_NAME, name },
                                       { TS_COLUMN_TYPE, (uint64_t)type },
                                       { TS_COLUMN_VALUE, value } };
    import_event(job, TS_EVENT_ZONE_ARG, thread, start_ns, 0, values, 4);
}

void import_zone_int(import_job *job, uint32_t thread, int64_t start_ns,
                     uint32_t site, uint32_t name, int64_t value)
{
    zone_value(job, thread, start_ns, site, name, TS_VALUE_INT,
               (uint64_t)value);
}

void import_zone_double(import_job *job, uint32_t thread, int64_t start_ns,
                        uint32_t site, uint32_t name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    zone_value(job, thread, start_ns, site, name, TS_VALUE_DOUBLE, bits);
}

void import_zone_text(import_job *job, uint32_t thread, int64_t start_ns,
                      uint32_t site, uint32_t name, const char *text,
                      size_t size)
{
    const ts_writer_value values[] = { { TS_COLUMN_SITE, site },
                                       { TS_COLUMN_NAME, name },
                                       { TS_COLUMN_TYPE, TS_VALUE_TEXT } };
    import_event_text(job, TS_EVENT_ZONE_ARG, thread, start_ns, 0, values, 3,
                      text, size);
}

void import_api_call(import_job *job, uint32_t thread, int64_t start_ns,
                     int64_t duration_ns, uint32_t name, uint64_t correlation,
                     uint64_t result)
{
    const ts_writer_value values[] = { { TS_COLUMN_NAME, name },
                                       { TS_COLUMN_CORRELATION, correlation },
                                       { TS_COLUMN_RESULT, result } };
    const uint64_t before = job->events[TS_EVENT_API_CALL];
    import_event(job, TS_EVENT_API_CALL, thread, start_ns, duration_ns, values,
                 3);
    if (!correlation || job->events[TS_EVENT_API_CALL] == before) return;
    const import_call call = { correlation, start_ns, thread };
    import_call_keep(job, &call);
}

/* ---- Opening and closing ------------------------------------------------ */

bool import_fail(import_job *job, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_progress_end(&job->tables->progress);
    return cli_fail(job->tool, TS_ERR_CORRUPT, import_source_name(job->source),
                    "%s", text);
}

bool import_out_of_memory(import_job *job)
{
    cli_progress_end(&job->tables->progress);
    return cli_fail(job->tool, TS_ERR_MEMORY, import_source_name(job->source),
                    "not enough memory");
}

void import_progress_of(import_job *job, uint64_t done, uint64_t total)
{
    if (total) cli_progress_show(&job->tables->progress, done, total);
}

void import_progress(import_job *job)
{
    import_progress_of(job, import_source_done(job->source),
                       import_source_total(job->source));
}

// Returns a path beside the trace, where there must be enough space.
static char *temporary_path(const char *path, const char *ending)
{
    const size_t size = path ? strlen(path) + strlen(ending) + 1 : 0;
    char *const text = size ? malloc(size) : NULL;
    if (text) snprintf(text, size, "%s%s", path, ending);
    return text;
}

static import_tables *tables_new(const char *path)
{
    import_tables *const t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->packed_path = temporary_path(path, ".operations");
    t->calls_path = temporary_path(path, ".calls");
    t->packed.path = t->packed_path;
    t->calls.path = t->calls_path;
    t->progress.what = "importing";
    t->tracks.size = sizeof(import_track);
    t->packed_at.size = sizeof(uint64_t);
    t->known.size = sizeof(import_known);
    t->loose.size = sizeof(import_operation);
    t->own_records.size = sizeof(uint64_t);
    t->facts.size = sizeof(import_facts);
    t->records.size = sizeof(import_record);
    return t;
}

import_job *import_job_open(const cli_tool *tool, import_source *source,
                            const import_format *format, const char *path,
                            ts_result *result)
{
    import_job *const job = calloc(1, sizeof *job);
    *result = TS_ERR_MEMORY;
    if (!job) return NULL;
    job->tool = tool;
    job->source = source;
    job->format = format;
    job->rank = job->world_size = IMPORT_NONE;
    job->first_ns = INT64_MAX;
    job->last_ns = INT64_MIN;
    job->tables = tables_new(path);
    // The session id is a function of the input.
    ts_writer_desc desc = { .path = path };
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    const char *const base = import_source_base(source);
    const XXH128_hash_t hash =
        XXH3_128bits_withSeed(head, size, XXH3_64bits(base, strlen(base)));
    memcpy(desc.session, &hash, sizeof desc.session);
    if (job->tables) *result = ts_writer_open(&job->writer, &desc);
    if (*result == TS_OK) return job;
    import_job_close(job);
    return NULL;
}

// Writes counters as metadata, such as "import.bad.CAUSE".
static void write_tally(import_job *job, const import_tally *t, const char *of)
{
    for (size_t i = 0; i < t->count; i++) {
        char key[96];
        snprintf(key, sizeof key, "import.%s.%s", of, t->counters[i].text);
        import_meta_int(job, 0, key, (int64_t)t->counters[i].count);
    }
}

static void write_losses(import_job *job)
{
    for (size_t i = 0; i < job->bad.count; i++) {
        const import_counter *const c = &job->bad.counters[i];
        const bool timed = c->first_ns <= c->last_ns;
        const bool any = job->first_ns <= job->last_ns;
        const int64_t first = timed ? c->first_ns : any ? job->first_ns : 0;
        const int64_t last = timed ? c->last_ns : any ? job->last_ns : 0;
        ts_writer_loss(job->writer, 0, TS_LOSS_BACKEND,
                       import_name(job, c->text, strlen(c->text)), c->count,
                       near(job, first), near(job, last));
    }
}

static void write_facts(import_job *job)
{
    const char *const base = import_source_base(job->source);
    import_meta_text(job, 0, "import.format", job->format->name,
                     strlen(job->format->name));
    import_meta_text(job, 0, "import.source", base, strlen(base));
    import_meta_int(job, 0, "import.rows", (int64_t)job->rows);
    if (job->rank != IMPORT_NONE) import_meta_int(job, 0, "rank", job->rank);
    if (job->world_size != IMPORT_NONE)
        import_meta_int(job, 0, "world_size", job->world_size);
    write_tally(job, &job->bad, "bad");
    write_tally(job, &job->flawed, "flawed");
    write_tally(job, &job->unowned, "no_place");
    write_tally(job, &job->estimated, "estimated");
    write_losses(job);
}

static void set_origin(import_job *job)
{
    const bool any = job->first_ns <= job->last_ns;
    const int64_t first = any ? job->first_ns : job->tables->near_ns;
    int64_t unix_ns = 0;
    if (!job->has_unix_offset ||
        __builtin_add_overflow(first, job->unix_offset_ns, &unix_ns) ||
        unix_ns < 0)
        unix_ns = 0;
    ts_writer_origin(job->writer, near(job, first), (uint64_t)unix_ns);
}

ts_result import_job_end(import_job *job, bool keep)
{
    if (keep) {
        for (uint32_t i = 1; i <= job->tables->tracks.count; i++)
            import_zones_flush(job, i);
        import_operations_end(job);
        write_facts(job);
        set_origin(job);
    }
    cli_progress_end(&job->tables->progress);
    ts_writer *const writer = job->writer;
    job->writer = NULL;
    const import_tables *const t = job->tables;
    if (keep && !t->no_memory && !t->no_file) return ts_writer_close(writer);
    ts_writer_abandon(writer);
    if (!keep) return TS_OK;
    return t->no_memory ? TS_ERR_MEMORY : TS_ERR_IO;
}

void import_job_close(import_job *job)
{
    import_tables *const t = job->tables;
    if (job->writer) ts_writer_abandon(job->writer);
    if (t) {
        import_hold_free(job);
        import_list_free(&t->tracks);
        import_list_free(&t->facts);
        import_list_free(&t->records);
        cli_index_close(&t->track_index);
        free(t->packed_path);
        free(t->calls_path);
    }
    free(t);
    free(job->parts);
    free(job);
}
