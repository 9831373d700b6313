/*
    import_fixture.h - runs an importer and shows what came of it as text

    For tests of the formats. A source made by hand goes in; out come the
    events in order of time, one a line, then the tracks with flags, then the
    counts of the job. Identifiers are replaced by what they stand for.
*/
#ifndef IMPORT_FIXTURE_H
#define IMPORT_FIXTURE_H

#include "tools/import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "tests/unit.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char fixture_folder[] = "/tmp/ts_import_XXXXXX";

static inline int fixture_begin(void **state)
{
    return mkdtemp(fixture_folder) ? 0 : -1;
}

static inline int fixture_end(void **state)
{
    DIR *const folder = opendir(fixture_folder);
    char path[600];
    for (struct dirent *e; folder && (e = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", fixture_folder, e->d_name);
        unlink(path);
    }
    if (folder) closedir(folder);
    return rmdir(fixture_folder);
}

// Valid until the next call with the same `slot`, 0 to 3.
static inline const char *fixture_path(int slot, const char *name)
{
    static char paths[4][300];
    snprintf(paths[slot], sizeof paths[slot], "%s/%s", fixture_folder, name);
    return paths[slot];
}

// Writes a source; returns its path.
static inline const char *fixture_save(const void *bytes, size_t size)
{
    const char *const path = fixture_path(0, "source");
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    assert_int_equal(0, fclose(out));
    return path;
}

// A file of the real data, or a skipped test.
static inline const char *fixture_data(const char *name)
{
    static char path[600];
    const char *const folder = getenv("TS_DATA");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/data",
             name);
    if (access(path, R_OK)) {
        print_message("%s is not here (TS_DATA names its folder)\n", path);
        skip();
    }
    return path;
}

typedef struct imported {
    import_input *input;
    import_job *job;
    ts_reader *reader;
} imported;

static const cli_tool fixture_tool = { .name = "test" };

// Imports the first source of a file with the format that recognises it.
static inline imported import_into(const char *path, const char *output)
{
    imported i = { .input = import_input_open(&fixture_tool, path) };
    assert_non_null(i.input);
    import_source *const source = import_input_next(i.input);
    assert_non_null(source);
    const import_format *const *format = import_formats;
    while (*format && !(*format)->recognise(source))
        format++;
    assert_non_null(*format);
    ts_result result;
    i.job = import_job_open(&fixture_tool, source, *format, output, &result);
    assert_non_null(i.job);
    const bool good = (*format)->import(i.job);
    assert_int_equal(TS_OK, import_job_end(i.job, good));
    if (!good) return i;
    const ts_reader_desc desc = { .path = output, .threads = 1 };
    assert_int_equal(TS_OK, ts_reader_open(&i.reader, &desc));
    assert_int_equal(TS_OK, ts_reader_verify(i.reader));
    return i;
}

static inline void import_done(imported *i)
{
    ts_reader_close(i->reader);
    import_job_close(i->job);
    import_input_close(i->input);
}

// What is said of a file that cannot be imported; free it.
static inline char *import_refused(const char *path)
{
    char *const text = calloc(1, 1024);
    FILE *const said = tmpfile();
    const int old = dup(STDERR_FILENO);
    assert_non_null(text);
    assert_true(said && old >= 0);
    assert_int_equal(STDERR_FILENO, dup2(fileno(said), STDERR_FILENO));
    imported i = import_into(path, fixture_path(1, "o"));
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(said);
    assert_true(fread(text, 1, 1023, said) > 0);
    fclose(said);
    import_done(&i);
    return text;
}

static inline uint64_t import_tallied(const import_tally *tally,
                                      const char *name)
{
    for (size_t i = 0; i < tally->count; i++)
        if (!strcmp(tally->counters[i].text, name))
            return tally->counters[i].count;
    return 0;
}

/* ---- As text ------------------------------------------------------------ */

static inline void dump_track(FILE *out, const ts_reader *reader, uint64_t id)
{
    static const char *const types[] = { "?",      "process", "thread",
                                         "device", "context", "stream",
                                         "counter" };
    ts_track track;
    if (!ts_reader_track(reader, (uint32_t)id, &track)) {
        fprintf(out, "track %" PRIu64, id);
        return;
    }
    if (track.parent) {
        dump_track(out, reader, track.parent);
        fputc('/', out);
    }
    fprintf(out, "%s %" PRIu64, types[track.type], track.number);
    if (track.name.size)
        fprintf(out, " %.*s", (int)track.name.size, track.name.text);
}

static inline void dump_launch(FILE *out, const ts_reader *reader, uint64_t id)
{
    const ts_launch_entry *const l = ts_reader_launch(reader, (uint32_t)id);
    assert_non_null(l);
    const ts_text name = ts_reader_name(reader, l->name);
    fprintf(out, "%.*s", (int)name.size, name.text);
    if (l->block[0] || l->grid[0])
        fprintf(out, "<<<%u.%u.%u, %u.%u.%u>>>", l->grid[0], l->grid[1],
                l->grid[2], l->block[0], l->block[1], l->block[2]);
    if (l->registers) fprintf(out, " r%u", l->registers);
    if (l->static_shared || l->dynamic_shared)
        fprintf(out, " s%u+%u", l->static_shared, l->dynamic_shared);
    if (l->local) fprintf(out, " l%u", l->local);
}

// Innermost first: FUNCTION@MODULE(FILE:LINE), or an address in the module.
static inline void dump_stack(FILE *out, const ts_reader *reader, uint64_t id)
{
    const ts_frame_entry *frames;
    const ts_line_entry *lines;
    const uint32_t count = ts_reader_stack(reader, (uint32_t)id, &frames);
    for (uint32_t i = 0; i < count; i++) {
        const ts_module_entry *const module =
            ts_reader_module(reader, frames[i].module);
        const ts_text path = ts_reader_name(reader, module ? module->path : 0);
        const bool named = ts_reader_symbol(reader, &frames[i], &lines) > 0;
        const ts_text name =
            ts_reader_name(reader, named ? lines->function : 0);
        const ts_text file = ts_reader_name(reader, named ? lines->file : 0);
        fputs(i ? "<" : "", out);
        if (named)
            fprintf(out, "%.*s", (int)name.size, name.text);
        else
            fprintf(out, "0x%" PRIx64, frames[i].offset);
        fprintf(out, "@%.*s", (int)path.size, path.text);
        if (file.size || (named && lines->line))
            fprintf(out, "(%.*s:%u)", (int)file.size, file.text, lines->line);
    }
}

static inline void dump_value(FILE *out, const imported *i,
                              const ts_event *event, ts_column column)
{
    const uint64_t value = ts_event_value(event, column);
    ts_text text = { NULL, 0 };
    if (!value) return;
    fprintf(out, " %s=", ts_column_name(column));
    switch ((int)column) {
    case TS_COLUMN_SITE: {
        const ts_site_entry *const site =
            ts_reader_site(i->reader, (uint32_t)value);
        assert_non_null(site);
        text = ts_reader_name(i->reader, site->name);
        fprintf(out, "%.*s", (int)text.size, text.text);
        text = ts_reader_name(i->reader, site->category);
        if (text.size) fprintf(out, "/%.*s", (int)text.size, text.text);
        if (site->color) fprintf(out, "#%06x", site->color);
        break;
    }
    case TS_COLUMN_STACK: dump_stack(out, i->reader, value); break;
    case TS_COLUMN_NAME:
    case TS_COLUMN_UNIT:
    case TS_COLUMN_POOL:
        text = ts_reader_name(i->reader, (uint32_t)value);
        fprintf(out, "%.*s", (int)text.size, text.text);
        break;
    case TS_COLUMN_THREAD: dump_track(out, i->reader, value); break;
    case TS_COLUMN_LAUNCH: dump_launch(out, i->reader, value); break;
    case TS_COLUMN_PEER: // of a collective it is a rank
        if (event->kind == TS_EVENT_MEMCPY)
            dump_track(out, i->reader, value);
        else
            fprintf(out, "%" PRIu64, value);
        break;
    default: fprintf(out, "%" PRId64, (int64_t)value);
    }
}

static inline void dump_event(FILE *out, const imported *i,
                              const ts_event *event)
{
    const uint8_t *columns = ts_event_columns(event->kind);
    fprintf(out, "%" PRId64 "+%" PRId64 " %s on ",
            event->start_ns + i->job->first_ns, event->duration_ns,
            ts_event_name(event->kind));
    dump_track(out, i->reader, event->track);
    for (; *columns; columns++)
        dump_value(out, i, event, (ts_column)*columns);
    if (event->columns->texts && event->columns->text_sizes[event->row])
        fprintf(out, " \"%.*s\"", (int)event->columns->text_sizes[event->row],
                event->columns->texts[event->row]);
    fputc('\n', out);
}

static inline void dump_tally(FILE *out, const char *title,
                              const import_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        fprintf(out, "%s %s %" PRIu64 "\n", title, tally->counters[i].text,
                tally->counters[i].count);
}

// Free the result.
static inline char *import_dump(const imported *i)
{
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);
    ts_cursor *cursor;
    ts_event event;
    ts_track track;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, i->reader, NULL));
    while (ts_cursor_next(cursor, &event))
        dump_event(out, i, &event);
    assert_int_equal(TS_OK, ts_cursor_result(cursor));
    ts_cursor_close(cursor);
    for (size_t k = 0; ts_reader_track_at(i->reader, k, &track); k++) {
        if (!track.flags) continue;
        fputs("flags ", out);
        dump_track(out, i->reader, track.id);
        fprintf(out, " 0x%" PRIx64 "\n", track.flags);
    }
    dump_tally(out, "bad", &i->job->bad);
    dump_tally(out, "flawed", &i->job->flawed);
    dump_tally(out, "no place", &i->job->unowned);
    dump_tally(out, "estimated", &i->job->estimated);
    fclose(out);
    return text;
}

// What comes of a source must be exactly this. Imports twice: the same bytes.
static inline void import_expect(const char *path, const char *expected)
{
    const char *const one = fixture_path(2, "one.sbt");
    imported i = import_into(path, one);
    char *const text = import_dump(&i);
    if (strcmp(text, expected)) { // longer than a message of cmocka may be
        fprintf(stderr, "expected:\n%s\nbut it is:\n%s\n", expected, text);
        fail_msg("%s became something else", path);
    }
    free(text);
    import_done(&i);
    imported again = import_into(path, fixture_path(3, "two.sbt"));
    import_done(&again);
    FILE *const a = fopen(one, "rb"), *const b = fopen(
                                          fixture_path(3, "two.sbt"), "rb");
    int x, y;
    do {
        x = getc(a);
        y = getc(b);
        assert_int_equal(x, y);
    } while (x != EOF);
    fclose(a);
    fclose(b);
}

// A small file as text. Free the result.
static inline char *fixture_text(const char *path)
{
    FILE *const in = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    if (in && fread(text, 1, (1 << 20) - 1, in) == 0) text[0] = 0;
    if (in) fclose(in);
    return text;
}

// What comes of a source must be a file, which UPDATE=1 rewrites.
static inline void import_expect_text(const char *source, const char *wanted)
{
    if (getenv("UPDATE")) {
        imported i = import_into(source, fixture_path(1, "new.sbt"));
        char *const text = import_dump(&i);
        FILE *const out = fopen(wanted, "wb");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
        free(text);
        import_done(&i);
    }
    char *const text = fixture_text(wanted);
    import_expect(source, text);
    free(text);
}

// What comes of FOLDER/NAME.json must be FOLDER/NAME.txt.
static inline void import_expect_file(const char *folder, const char *name)
{
    char json[128], wanted[128];
    snprintf(json, sizeof json, "%s/%s.json", folder, name);
    snprintf(wanted, sizeof wanted, "%s/%s.txt", folder, name);
    import_expect_text(json, wanted);
}

// Replayed as recorded, nothing may move.
static inline void import_replays_exactly(const imported *i, uint64_t count)
{
    ts_replay *replay;
    assert_int_equal(TS_OK, ts_replay_open(&replay, i->reader, NULL));
    assert_int_equal(TS_OK, ts_replay_run(replay, NULL));
    const ts_replay_stats *const stats = ts_replay_result(replay);
    assert_int_equal(count, stats->loaded);
    assert_int_equal(count, stats->operations);
    assert_int_equal(0, stats->different);
    assert_int_equal(0, stats->start_error_max_ns);
    ts_replay_close(replay);
}

#endif // IMPORT_FIXTURE_H
