/*
    ts-info.c - what is in a trace, quickly
*/
#include "tools/info/info.h"
#include "tools/cli/search.h"
#include "tools/common/select/select.h"

enum { TRACKS_SHOWN = 40, LOSSES_SHOWN = 10, DAMAGE_SHOWN = 10 };

static bool option_json, option_verify, option_losses, option_tracks,
    option_chunks, option_salvage, no_salvage, option_stale, option_remove;

static const cli_option options[] = {
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { .name = "--verify",
      .help = "check the checksum and contents of every chunk",
      .flag = &option_verify },
    { .name = "--losses",
      .help = "list every loss and stall by track, cause and time",
      .flag = &option_losses },
    { .name = "--tracks",
      .help = "list every track, not only the first 40",
      .flag = &option_tracks },
    { .name = "--chunks",
      .help = "list the chunks of the file",
      .flag = &option_chunks },
    { .name = "--salvage",
      .help = "fail if records in the sidecar of a dead recorder cannot\n"
              "be moved into the trace",
      .flag = &option_salvage },
    { .name = "--no-salvage",
      .help = "do not change an unfinished trace",
      .flag = &no_salvage },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--stale",
      .help = "list the sidecars of recorders in FOLDERs (default:\n"
              "/dev/shm)",
      .flag = &option_stale },
    { .name = "--remove",
      .help = "with --stale: remove sidecars whose trace does not exist",
      .flag = &option_remove },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-info",
    .usage = "[options] FILE | --stale [--remove] [FOLDER...]",
    .about = "Shows the contents of a trace: session, tracks, events by kind, "
             "losses, damage.",
    .options = options,
};

/* ---- Session ------------------------------------------------------------ */

// Cuts long values, such as a profiler's configuration or a whole environment.
static void print_shortened(ts_text text)
{
    enum { LONGEST = 240, SHOWN = 160 };
    size_t shown = text.size;
    if (shown > LONGEST)
        for (shown = SHOWN; shown && (text.text[shown] & 0xC0) == 0x80;)
            shown--;
    cli_put_text(stdout, text.text, shown);
    if (shown < text.size)
        printf("... (%s in all: --json)", cli_bytes(text.size).s);
}

static void print_value(const ts_metadata *m)
{
    if (m->type == TS_VALUE_INT)
        printf("%" PRId64, m->number);
    else if (m->type == TS_VALUE_DOUBLE)
        fputs(cli_real(m->real).s, stdout);
    else
        print_shortened(m->text);
}

static void print_session(const cli_trace *trace, const char *path)
{
    const ts_info *const info = trace->info;
    cli_put_path(stdout, path);
    printf(": %s, SBT %u.%u, %s%s\n\n", cli_bytes(info->file_bytes).s,
           info->major, info->minor,
           info->live       ? "still being written"
           : info->finished ? "finished"
                            : "unfinished",
           info->finished && !info->indexed ? ", without a valid index" : "");
    if (info->start_realtime_ns) // 0 in some imported traces
        printf("  %-12s %s\n", "recorded", cli_date(info->start_realtime_ns).s);
    printf("  %-12s %s%s\n", "duration",
           cli_time(info->last_ns - info->first_ns).s,
           info->clock_estimated ? " (estimated)" : "");
    printf("  %-12s %" PRIu32 "\n", "process", info->process);
    printf("  %-12s %s\n", "session", info_session(info).s);
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(trace->reader, i, &m); i++) {
        if (m.track) continue;
        fputs("  ", stdout);
        cli_put_text(stdout, m.key.text, m.key.size);
        printf("%*s ", m.key.size < 12 ? 12 - (int)m.key.size : 0, "");
        print_value(&m);
        putchar('\n');
    }
    putchar('\n');
}

/* ---- Events ------------------------------------------------------------- */

// Whether the terminal has room for the counts only.
static bool is_narrow(void)
{
    return cli_has_width() && cli_width() < 60;
}

static void print_event_row(const char *name, uint64_t count, uint64_t stored)
{
    if (is_narrow()) {
        cli_put_padded(stdout, name, strlen(name), 10);
        printf("%10s\n", cli_count(count).s);
        return;
    }
    printf("  %-16s %14s %12s %9.2f B\n", name, cli_count(count).s,
           cli_bytes(stored).s, (double)stored / (double)count);
}

static void print_skipped(const ts_info *info)
{
    if (info->unknown_events || info->unknown_chunks)
        printf("  skipped: %s and %s of kinds that this version does not "
               "know\n",
               cli_counted(info->unknown_events, "event", "events").s,
               cli_counted(info->unknown_chunks, "chunk", "chunks").s);
}

static void print_events(const ts_info *info)
{
    const uint64_t total = info_event_count(info);
    uint64_t stored = 0;
    if (!total) {
        puts("Events: none");
        return;
    }
    if (is_narrow())
        printf("%-10s%10s\n", "Events", "count");
    else
        printf("%-18s %14s %12s %11s\n", "Events", "count", "stored",
               "per event");
    for (uint32_t kind = 0; kind < TS_EVENT_LIMIT; kind++) {
        if (!info->counts[kind]) continue;
        print_event_row(ts_event_name(kind), info->counts[kind],
                        info->stored_bytes[kind]);
        stored += info->stored_bytes[kind];
    }
    print_event_row("all", total, stored);
}

/* ---- Tracks ------------------------------------------------------------- */

typedef struct listed_track {
    ts_track track;
    uint64_t events; // 0 also if counting would take long
} listed_track;

typedef struct track_list {
    listed_track *tracks; // sorted by parent, type, id
    bool *printed;
    size_t count, shown, limit;
} track_list;

static int by_parent(const void *left, const void *right)
{
    const ts_track *const a = &((const listed_track *)left)->track,
                          *const b = &((const listed_track *)right)->track;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void print_track(const cli_trace *trace, const listed_track *listed,
                        uint32_t depth)
{
    const ts_track *const track = &listed->track;
    cli_text made;
    const ts_text name = cli_track_name(track, &made);
    printf("  %*s", (int)depth * 2, "");
    if (track->name.size) printf("%s ", cli_track_type(track->type));
    cli_put_text(stdout, name.text, name.size);
    if (track->type != TS_TRACK_COUNTER && track->name.size)
        printf(" (%" PRIu64 ")", track->number);
    if (track->unit.size) {
        fputs(" in ", stdout);
        cli_put_text(stdout, track->unit.text, track->unit.size);
    }
    if (track->type == TS_TRACK_STREAM)
        printf("%s%s%s",
               track->flags & TS_STREAM_OUT_OF_ORDER ? ", out of order" : "",
               track->flags & TS_STREAM_NON_BLOCKING ? ", non-blocking" : "",
               track->flags & TS_STREAM_LEGACY_DEFAULT ? ", legacy default"
                                                       : "");
    if (listed->events)
        printf("  %s event%s", cli_count(listed->events).s,
               listed->events == 1 ? "" : "s");
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(trace->reader, i, &m); i++) {
        if (m.track != track->id) continue;
        fputs(", ", stdout);
        cli_put_text(stdout, m.key.text, m.key.size);
        putchar(' ');
        print_value(&m);
    }
    putchar('\n');
}

// In a hostile file parents may form a cycle: `printed` ends the recursion.
static void print_branch(const cli_trace *trace, track_list *list,
                         uint32_t parent, uint32_t depth)
{
    size_t low = 0, high = list->count;
    while (low < high)
        cli_halve(&low, &high,
                  list->tracks[cli_middle(low, high)].track.parent < parent);
    for (; low < list->count && list->tracks[low].track.parent == parent;
         low++) {
        if (list->printed[low]) continue;
        list->printed[low] = true;
        if (list->shown++ < list->limit)
            print_track(trace, &list->tracks[low], depth);
        if (depth < 16 && list->tracks[low].track.id)
            print_branch(trace, list, list->tracks[low].track.id, depth + 1);
    }
}

static bool list_tracks(const cli_trace *trace, track_list *list)
{
    const size_t count = trace->info->track_count;
    *list = (track_list){ .limit = option_tracks ? SIZE_MAX : TRACKS_SHOWN };
    list->tracks = calloc(count + 1, sizeof *list->tracks);
    list->printed = calloc(count + 1, sizeof *list->printed);
    if (!list->tracks || !list->printed) return false;
    uint64_t *const events = info_track_events(trace);
    while (list->count < count &&
           ts_reader_track_at(trace->reader, list->count,
                              &list->tracks[list->count].track)) {
        if (events) list->tracks[list->count].events = events[list->count];
        list->count++;
    }
    free(events);
    qsort(list->tracks, list->count, sizeof *list->tracks, by_parent);
    return true;
}

static void print_tracks(const cli_trace *trace)
{
    track_list list;
    printf("\nTracks: %s\n", cli_count(trace->info->track_count).s);
    if (list_tracks(trace, &list)) {
        print_branch(trace, &list, 0, 0);
        for (size_t i = 0; i < list.count; i++) // with a parent that is missing
            if (!list.printed[i])
                print_branch(trace, &list, list.tracks[i].track.parent, 0);
        if (list.shown > list.limit)
            printf("  and %zu more: --tracks lists them\n",
                   list.shown - list.limit);
    }
    free(list.tracks);
    free(list.printed);
}

/* ---- Losses, damage, chunks --------------------------------------------- */

static void print_loss(const cli_trace *trace, const ts_loss_row *row)
{
    ts_track track = { 0 };
    cli_text made;
    ts_text name = { "the session", 11 };
    if (row->track && ts_reader_track(trace->reader, row->track, &track))
        name = cli_track_name(&track, &made);
    const ts_text detail = ts_reader_name(trace->reader, row->detail);
    printf("  %14s %-16s on ", cli_count(row->count).s,
           ts_loss_name(row->cause));
    cli_put_text(stdout, name.text, name.size);
    printf(", %s to %s", cli_time(row->first_ns).s, cli_time(row->last_ns).s);
    if (row->stall_ns)
        printf(", %s in all", cli_time((int64_t)row->stall_ns).s);
    if (detail.size) {
        fputs(": ", stdout);
        cli_put_text(stdout, detail.text, detail.size);
    }
    putchar('\n');
}

static void print_losses(const cli_trace *trace)
{
    const ts_info *const info = trace->info;
    const size_t count = ts_reader_loss_count(trace->reader);
    const size_t limit = option_losses ? count : LOSSES_SHOWN;
    printf("\nLost: %s%s\n", info->lost ? cli_count(info->lost).s : "nothing",
           info->lost ? " records" : "");
    ts_loss_row row;
    for (size_t i = 0; i < limit && ts_reader_loss(trace->reader, i, &row); i++)
        print_loss(trace, &row);
    if (count > limit)
        printf("  and %zu more: --losses lists them\n", count - limit);
    if (info->salvaged)
        printf("Salvaged: %s from the sidecar of a recorder that died\n",
               cli_counted(info->salvaged, "record", "records").s);
    if (info->salvage_failed)
        printf("Salvage failed: %s\n", ts_result_text(info->salvage));
}

static void print_damage(const cli_trace *trace)
{
    const size_t count = ts_reader_damage_count(trace->reader);
    const size_t limit = option_verify ? count : DAMAGE_SHOWN;
    if (!count)
        puts(option_verify ? "Damage: none; every chunk was checked"
                           : "Damage: none found so far (--verify checks every "
                             "chunk)");
    else
        printf("Damage: %zu %s\n", count, count == 1 ? "place" : "places");
    ts_damage damage;
    for (size_t i = 0; i < limit && ts_reader_damage(trace->reader, i, &damage);
         i++)
        printf("  byte %" PRIu64 ": %s; %s bytes skipped\n", damage.offset,
               damage.text, cli_count(damage.size).s);
    if (count > limit)
        printf("  and %zu more: --verify lists them\n", count - limit);
}

static void print_chunks(const cli_trace *trace)
{
    ts_chunk_info chunk;
    printf("\n%12s %-9s %-14s %8s %10s %10s %10s %s\n", "offset", "chunk",
           "events", "track", "count", "stored", "raw", "from, to");
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &chunk); i++) {
        const ts_chunk_header *const h = &chunk.header;
        const bool events = h->kind == TS_CHUNK_EVENTS;
        char track[16] = "-";
        if (events && h->track == TS_TRACK_MIXED)
            snprintf(track, sizeof track, "mixed");
        else if (events)
            snprintf(track, sizeof track, "%" PRIu32, h->track);
        printf("%12" PRIu64 " %-9s %-14s %8s %10" PRIu32 " %10" PRIu32
               " %10" PRIu32,
               chunk.offset, info_chunk_name(h->kind),
               events ? ts_event_name(h->event) : "-", track, h->count,
               h->stored_size, h->raw_size);
        if (events)
            printf(" %s, %s", cli_time(chunk.first_ns).s,
                   cli_time(chunk.last_ns).s);
        putchar('\n');
    }
}

static void print_text(const cli_trace *trace, const char *path)
{
    const ts_info *const info = trace->info;
    cli_fold();
    print_session(trace, path);
    print_events(info);
    print_skipped(info);
    print_tracks(trace);
    printf("\nDictionaries: %s, %s, %s\n",
           cli_counted(info->name_count, "name", "names").s,
           cli_counted(info->site_count, "site", "sites").s,
           cli_counted(info->launch_count, "launch", "launches").s);
    printf("Chunks: %s\n", cli_count(info->chunk_count).s);
    print_losses(trace);
    print_damage(trace);
    if (option_chunks) print_chunks(trace);
}

/* ---- Main --------------------------------------------------------------- */

// Salvages a left-over sidecar. False, with the reason on stderr, if it could
// not be moved into the trace.
static bool salvage(const char *path)
{
    uint64_t records = 0;
    const ts_result result = ts_salvage(path, &records);
    if (result == TS_OK) return true;
    cli_error(&tool, path, "records in the sidecar could not be salvaged: %s",
              ts_result_text(result));
    return false;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (option_stale && !option_verify && !option_losses && !option_tracks &&
        !option_chunks && !option_salvage && !no_salvage)
        return cli_finish(&tool, info_stale(&tool, argv + 1, (size_t)argc - 1,
                                            option_json, option_remove));
    if (argc != 2 || option_stale || option_remove ||
        (option_salvage && no_salvage))
        return cli_usage(&tool);
    if (select_any() && (option_verify || option_chunks || option_salvage)) {
        cli_error(&tool, NULL,
                  "--verify, --chunks and --salvage refer to the whole file: "
                  "they cannot be combined with a selection");
        return cli_usage(&tool);
    }
    if (!select_check(&tool)) return cli_usage(&tool);
    select_install();
    const char *const path = argv[1];
    if (option_salvage && !salvage(path)) return CLI_FAILED;
    const ts_reader_desc desc = { .no_salvage = no_salvage };
    cli_trace trace;
    if (!cli_trace_open(&trace, &tool, path, &desc, CLI_WARN_NONE))
        return CLI_FAILED;
    const bool sound =
        !option_verify || ts_reader_verify(trace.reader) == TS_OK;
    if (option_json)
        info_json(&trace, path, option_verify, option_chunks);
    else
        print_text(&trace, path);
    const bool damaged = ts_reader_damage_count(trace.reader) != 0;
    cli_trace_close(&trace);
    return cli_finish(&tool, sound && !damaged ? CLI_OK : CLI_FAILED);
}
