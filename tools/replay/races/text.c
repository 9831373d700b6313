/*
    text.c - races and explored orders in words
*/
#include "tools/replay/races/races.h"
#include "tools/common/symbolize/symbolize.h"

const char *races_access(const ts_race_side *side)
{
    static const char *const names[] = { "touches", "reads", "writes",
                                         "reads and writes" };
    if (side->kind == TS_EVENT_FREE || side->kind == TS_EVENT_GPU_FREE)
        return "frees";
    if (side->kind == TS_EVENT_ALLOC || side->kind == TS_EVENT_GPU_ALLOC)
        return "allocates";
    return names[side->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE)];
}

static void put_track(FILE *out, const races_job *job, uint32_t file,
                      uint32_t id)
{
    ts_track track = { .id = id };
    if (!ts_reader_track(replay_reader(job->replay, file), id, &track))
        fprintf(out, "track %" PRIu32, id);
    else if (track.type == TS_TRACK_STREAM)
        replay_put_track(out, job->replay, file, &track);
    else {
        cli_text made;
        const ts_text name = cli_track_name(&track, &made);
        if (track.name.size) fprintf(out, "%s ", cli_track_type(track.type));
        cli_put_text(out, name.text, name.size);
    }
}

// Prints where an access was launched: zone and stack, if known.
static void put_place(const races_job *job, const ts_race_side *side)
{
    const ts_reader *const reader = replay_reader(job->replay, side->file);
    const ts_site_entry *const site = ts_reader_site(reader, side->site);
    if (!side->thread && !site && !side->stack) return;
    fputs("        ", stdout);
    if (side->thread) {
        fputs(side->operation == TS_NODE_NONE ? "by " : "launched by ", stdout);
        put_track(stdout, job, side->file, side->thread);
    }
    if (site) {
        const ts_text name = ts_reader_site_name(reader, side->site);
        const ts_text file = ts_reader_name(reader, site->file);
        fputs(side->thread ? " in zone " : "in zone ", stdout);
        cli_put_text(stdout, name.text, name.size);
        if (file.size) {
            fputs(" (", stdout);
            cli_put_text(stdout, file.text, file.size);
            printf(":%" PRIu32 ")", site->line);
        }
    }
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(reader, side->stack, &frames);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count && shown < 8; i++) {
        const uint32_t depth = symbolize_depth(reader, &frames[i]);
        for (uint32_t k = 0; k < depth && shown < 8; k++) {
            const ts_text text = symbolize_text(reader, &frames[i], k);
            fputs(shown++ ? " < " : " at ", stdout);
            cli_put_text(stdout, text.text, text.size);
        }
    }
    putchar('\n');
}

static void put_side(const races_job *job, char letter,
                     const ts_race_side *side)
{
    const ts_text label = ts_race_side_label(job->races, side);
    printf("    %c   ", letter);
    if (side->operation == TS_NODE_NONE)
        fputs("the host", stdout);
    else
        cli_put_text(stdout, label.text, label.size);
    if (side->operation != TS_NODE_NONE) {
        fputs(" on ", stdout);
        put_track(stdout, job, side->file, side->track);
    }
    printf(" at %s", cli_time(side->start_ns).s);
    if (side->end_ns > side->start_ns)
        printf(" for %s", cli_time(side->end_ns - side->start_ns).s);
    printf(" %s%s 0x%" PRIx64 " + %" PRIu64 "\n", races_access(side),
           side->mode & TS_ACCESS_COARSE ? " within" : "", side->address,
           side->size);
    put_place(job, side);
}

void races_put_fix(FILE *out, const races_job *job, const ts_race *race)
{
    switch (race->fix) {
    case TS_RACE_FIX_EVENT_WAIT:
        fputs("record an event on ", out);
        put_track(out, job, race->first.file, race->first.track);
        fputs(" after A and let ", out);
        put_track(out, job, race->second.file, race->second.track);
        fputs(" wait for it before B", out);
        break;
    case TS_RACE_FIX_HOST_SYNC:
        fputs("synchronize the host with ", out);
        put_track(out, job, race->first.file, race->first.track);
        fputs(" after A, before B", out);
        break;
    case TS_RACE_FIX_LAUNCH_LATER:
        fputs("launch B after A, or synchronize the host with ", out);
        put_track(out, job, race->second.file, race->second.track);
        fputs(" after B, before A", out);
        break;
    case TS_RACE_FIX_FREE_LATER:
        fputs("free it after B, and let the free wait for B", out);
        break;
    case TS_RACE_FIX_FREE_ONCE: fputs("free it once", out); break;
    }
}

static const char *what(ts_race_kind kind)
{
    static const char *const texts[] = {
        "two writes without an order",
        "a read and a write without an order",
        "use after free",
        "a free that may occur before the use",
        "double free",
        "a use that may occur before the allocation",
    };
    return texts[(size_t)kind];
}

static void put_race(const races_job *job, size_t index, const ts_race *race)
{
    printf("\n%zu. %s: %s", index + 1, ts_race_name(race->kind),
           what(race->kind));
    if (race->instances > 1)
        printf("; %s times, first", cli_count(race->instances).s);
    if (race->coarse)
        fputs(" (only the allocation is known, not the accessed range)",
              stdout);
    putchar('\n');
    put_side(job, 'A', &race->first);
    put_side(job, 'B', &race->second);
    printf("    both 0x%" PRIx64 " + %" PRIu64 "\n    fix ", race->address,
           race->size);
    races_put_fix(stdout, job, race);
    putchar('\n');
}

static void put_coverage(const ts_races_stats *s)
{
    const struct {
        uint64_t count;
        const char *what;
    } notes[] = {
        { s->coarse, "operations of which only the allocation is known" },
        { s->host, "accesses, allocations and frees of the host" },
        { s->unplaced, "skipped operations on no known stream or thread" },
        { s->unknown_order, "skipped pairs whose later launch is unknown" },
        { s->unknown_frees, "frees without a recorded allocation" },
        { s->lost_accesses, "accesses by operations not in the trace" },
        { s->bad_ranges, "invalid address ranges" },
        { s->cycle, "skipped operations that wait in a cycle" },
        { s->capped, "searches limited to 64 partners" },
    };
    printf("accessed memory is known for %s of %s operations\n",
           cli_count(s->known).s, cli_count(s->operations).s);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count)
            printf("    %s: %s\n", notes[i].what, cli_count(notes[i].count).s);
}

// Prints the command that repeats only the order whose result differs.
static void put_again(const races_job *job)
{
    const races_options *const options = &job->options;
    printf("    to repeat: ts-replay --explore 1 --seed %" PRIu64,
           job->exploration.seed);
    for (size_t i = 0; i < RACES_SELECTIONS; i++) {
        if (!options->selection[i][1]) continue;
        printf(" %s ", options->selection[i][0]);
        cli_put_word(stdout, options->selection[i][1]);
    }
    for (uint32_t i = 0; i < job->replay->file_count; i++) {
        putchar(' ');
        cli_put_word(stdout, job->replay->files[i].path);
    }
    putchar('\n');
}

static void put_exploration(const races_job *job)
{
    const ts_exploration *const e = &job->exploration;
    const uint64_t seed = job->options.seed;
    const cli_text again =
        job->vdev_orders
            ? cli_format(
                  "%s also ran on the vdev: %s", cli_count(job->vdev_orders).s,
                  job->vdev_differs ? "different memory" : "the same memory")
            : cli_format("too many steps for the vdev");
    if (!e->differs) {
        printf("\n%s of %s steps from seed %" PRIu64
               ": all leave the same memory; %s of them distinct\n",
               cli_counted(e->orders, "order", "orders").s,
               cli_count(e->operations).s, seed, cli_count(e->distinct).s);
        printf("    %s\n", again.s);
        return;
    }
    printf("\norder %s of %s steps, seed %" PRIu64
           ", leaves different memory: ",
           cli_count(e->orders).s, cli_count(e->operations).s, e->seed);
    if (e->size)
        printf("0x%" PRIx64 " + %" PRIu64 "\n", e->address, e->size);
    else
        printf("the host reads a different value\n");
    puts("    this occurs when B runs before A");
    put_side(job, 'A', &e->first);
    put_side(job, 'B', &e->second);
    printf("    %s\n", again.s);
    put_again(job);
}

void races_text(const races_job *job)
{
    const ts_races_stats *const s = ts_races_result(job->races);
    ts_race race;
    cli_fold();
    put_coverage(s);
    if (job->options.races) {
        if (s->instances)
            printf("%s %s\n", cli_count(s->races).s,
                   s->races == 1 ? "race" : "races");
        else
            puts("no race");
        for (size_t i = 0; ts_races_at(job->races, i, &race); i++)
            put_race(job, i, &race);
    }
    if (job->options.explore) put_exploration(job);
}
