/*
    hostile.c - traces that somebody wrote to do harm, to every tool

    usage: hostile [--commands N] [--from CASE] COUNT TOOLS FOLDER TRACE...

    Each case is one of the traces, a few places of which are changed: what
    chunks hold (columns, entries, blobs, captures), what their headers say,
    which chunks there are, and the index. Compressed chunks are inflated
    before, and afterwards every hash, checksum and offset is right again, so
    that what was changed is really read. Then tools run on it, N of the list
    below (0: all), chosen by the number of the case. They may say what they
    like and fail, but they must not die of a signal, run for long, or let a
    sanitizer report; nothing may be executed. What goes wrong is kept in
    FOLDER. COUNT 0: the traces as they are, with all commands.
*/
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#include "tracesmith.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHUNKS = 4096,
    SIZE = 16 << 20,
    PICTURE = 128, // bytes of one in the index
    SANITIZER = 86,
    CPU_S = 20,
    ELAPSED_S = 60
};

/* ---- Chance -------------------------------------------------------------- */

static uint64_t seed;

static uint64_t any(void) // splitmix64
{
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t below(size_t limit)
{
    return limit ? (size_t)(any() % limit) : 0;
}

/* ---- A trace in pieces --------------------------------------------------- */

typedef struct chunk {
    ts_chunk_header header;
    uint8_t *payload; // raw_size bytes
} chunk;

static ts_file_header file_header;
static chunk chunks[CHUNKS];
static size_t chunk_count;

static void *copy_of(const void *bytes, size_t size)
{
    void *const copy = calloc(1, size + 8);
    if (!copy) abort();
    if (size) memcpy(copy, bytes, size);
    return copy;
}

static bool take_payload(chunk *c, const uint8_t *stored)
{
    ts_chunk_header *const h = &c->header;
    if (!(h->flags & TS_CHUNK_ZSTD)) {
        c->payload = copy_of(stored, h->stored_size);
        return true;
    }
    if (h->raw_size > SIZE) return false;
    c->payload = copy_of(NULL, 0);
    free(c->payload);
    c->payload = calloc(1, h->raw_size + 8);
    h->flags &= (uint16_t)~TS_CHUNK_ZSTD;
    return c->payload && ZSTD_decompress(c->payload, h->raw_size, stored,
                                         h->stored_size) == h->raw_size;
}

static void forget(void)
{
    while (chunk_count > 0)
        free(chunks[--chunk_count].payload);
}

// All but the index, which is made anew.
static bool load(const char *path)
{
    static uint8_t bytes[SIZE];
    FILE *const file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    forget();
    if (size < sizeof file_header) return false;
    memcpy(&file_header, bytes, sizeof file_header);
    for (size_t at = sizeof file_header;
         at + sizeof(ts_chunk_header) <= size && chunk_count < CHUNKS;) {
        chunk *const c = &chunks[chunk_count];
        memcpy(&c->header, bytes + at, sizeof c->header);
        at += sizeof c->header;
        const size_t stored = c->header.stored_size;
        if (c->header.magic != TS_CHUNK_MAGIC || stored > size - at) break;
        if (c->header.kind != TS_CHUNK_INDEX &&
            c->header.kind != TS_CHUNK_END) {
            if (!take_payload(c, bytes + at)) return false;
            chunk_count++;
        }
        at += (stored + 7) & ~(size_t)7;
    }
    return chunk_count > 0;
}

/* ---- Changes ------------------------------------------------------------- */

static uint64_t odd_value(void)
{
    static const uint64_t values[] = {
        0,
        1,
        2,
        7,
        8,
        0x7F,
        0x80,
        0xFF,
        0x100,
        0x7FFF,
        0xFFFF,
        0x10000,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        UINT64_C(0x100000000),
        INT64_MAX,
        UINT64_C(1) << 63,
        UINT64_MAX,
        UINT64_MAX - 7,
        UINT64_C(1) << 48,
    };
    return below(3) ? values[below(sizeof values / sizeof *values)]
                    : any() >> below(64);
}

// One number of a payload: another one, or nearly the same.
static void change_number(chunk *c)
{
    const size_t width = (size_t)1 << below(4), size = c->header.raw_size;
    uint64_t value = 0;
    if (size < width) return;
    // Where counts and descriptions of columns are.
    const size_t room = below(2) && size > 64 ? 64 : size;
    const size_t at = below(room - width + 1) & ~(width - 1);
    memcpy(&value, c->payload + at, width);
    switch (below(4)) {
    case 0: value += 1; break;
    case 1: value -= 1; break;
    case 2: value ^= UINT64_C(1) << below(8 * width); break;
    default: value = odd_value();
    }
    memcpy(c->payload + at, &value, width);
}

static void change_header(chunk *c)
{
    ts_chunk_header *const h = &c->header;
    const uint64_t value = odd_value();
    switch (below(8)) {
    case 0: h->event = (uint8_t)below(TS_EVENT_LIMIT + 2); break;
    case 1: h->kind = (uint8_t)(1 + below(20)); break;
    case 2: h->track = (uint32_t)value; break;
    case 3: h->clock = (uint32_t)value; break;
    case 4: h->count = (uint32_t)value; break;
    case 5: h->count += (uint32_t)below(3) - 1; break;
    case 6: h->first = value; break;
    default: h->last = value;
    }
}

static void change_size(chunk *c)
{
    const uint32_t size = c->header.raw_size;
    const uint32_t more = (uint32_t)below(64);
    if (below(2)) {
        c->header.raw_size = size > more ? size - more : 0;
        return;
    }
    uint8_t *const bytes = calloc(1, (size_t)size + more + 8);
    if (!bytes) abort();
    memcpy(bytes, c->payload, size);
    free(c->payload);
    c->payload = bytes;
    c->header.raw_size = size + more;
}

// Some of another chunk's bytes, best of one of the same kind.
static void change_bytes(chunk *c)
{
    const chunk *from = &chunks[below(chunk_count)];
    for (int i = 0; i < 8 && from->header.kind != c->header.kind; i++)
        from = &chunks[below(chunk_count)];
    const size_t size = c->header.raw_size, have = from->header.raw_size;
    size_t count = 1 + below(64);
    if (count > size) count = size;
    if (count > have) count = have;
    memmove(c->payload + below(size - count + 1),
            from->payload + below(have - count + 1), count);
}

static void change_chunks(size_t which)
{
    const size_t other = below(chunk_count);
    const chunk kept = chunks[which];
    switch (below(3)) {
    case 0: // the other way round
        chunks[which] = chunks[other];
        chunks[other] = kept;
        break;
    case 1: // twice
        if (chunk_count == CHUNKS - 1) break;
        chunks[chunk_count] = kept;
        chunks[chunk_count++].payload =
            copy_of(kept.payload, kept.header.raw_size);
        break;
    default: // not at all
        if (chunk_count < 2) break;
        free(kept.payload);
        chunks[which] = chunks[--chunk_count];
    }
}

static void change(void)
{
    for (size_t i = 1 + below(6); i > 0; i--) {
        const size_t which = below(chunk_count);
        chunk *const c = &chunks[which];
        switch (below(12)) {
        case 0: change_header(c); break;
        case 1: change_size(c); break;
        case 2: change_bytes(c); break;
        case 3: change_chunks(which); break;
        default: change_number(c);
        }
    }
}

/* ---- A trace again ------------------------------------------------------- */

// Blobs and captures are named by their hash, which lists of others know: it
// stays wrong now and then.
static void repair_hash(chunk *c)
{
    if ((c->header.kind != TS_CHUNK_BLOB &&
         c->header.kind != TS_CHUNK_CAPTURE) ||
        c->header.raw_size < 16 || !below(16))
        return;
    const XXH128_hash_t hash =
        XXH3_128bits(c->payload + 16, c->header.raw_size - 16);
    const uint64_t halves[2] = { hash.low64, hash.high64 };
    memcpy(c->payload, halves, sizeof halves);
}

static uint64_t write_chunk(FILE *out, uint32_t sequence, chunk *c)
{
    static const uint8_t zeros[8];
    ts_chunk_header *const h = &c->header;
    const size_t checked = offsetof(ts_chunk_header, checksum);
    const uint64_t at = (uint64_t)ftell(out);
    h->magic = TS_CHUNK_MAGIC;
    h->sequence = sequence;
    h->stored_size = h->raw_size;
    h->checksum =
        XXH3_64bits_withSeed(c->payload, h->raw_size, XXH3_64bits(h, checked));
    fwrite(h, sizeof *h, 1, out);
    fwrite(c->payload, 1, h->raw_size, out);
    fwrite(zeros, 1, -h->raw_size & 7, out);
    return at;
}

// One part, which lists all chunks, perhaps with a wrong number.
static chunk index_of(const uint64_t *offsets)
{
    size_t pictures = 0;
    for (size_t i = 0; i < chunk_count; i++)
        pictures += chunks[i].header.kind == TS_CHUNK_EVENTS;
    const size_t entry = sizeof(ts_chunk_header);
    const size_t size = 16 + chunk_count * entry + pictures * PICTURE;
    chunk c = { .header = { .kind = TS_CHUNK_INDEX,
                            .session = chunks[0].header.session,
                            .count = (uint32_t)chunk_count,
                            .raw_size = (uint32_t)size },
                .payload = calloc(1, size + 8) };
    if (!c.payload) abort();
    for (size_t i = 0; i < chunk_count; i++) {
        ts_chunk_header h = chunks[i].header;
        h.checksum = offsets[i];
        memcpy(c.payload + 16 + i * entry, &h, entry);
    }
    for (size_t i = size - pictures * PICTURE; i < size; i++)
        c.payload[i] = (uint8_t)any();
    if (!below(8)) change_number(&c);
    return c;
}

static void write_trace(const char *path)
{
    static uint64_t offsets[CHUNKS];
    FILE *const out = fopen(path, "wb");
    if (!out) abort();
    file_header.checksum =
        XXH3_64bits(&file_header, offsetof(ts_file_header, checksum));
    fwrite(&file_header, sizeof file_header, 1, out);
    uint32_t sequence = 0;
    for (size_t i = 0; i < chunk_count; i++) {
        repair_hash(&chunks[i]);
        offsets[i] = write_chunk(out, sequence++, &chunks[i]);
    }
    if (below(6)) { // else it is not finished
        chunk part = index_of(offsets);
        chunk end = { .header = { .kind = TS_CHUNK_END,
                                  .session = chunks[0].header.session },
                      .payload = part.payload };
        end.header.first = write_chunk(out, sequence++, &part);
        write_chunk(out, sequence, &end);
        free(part.payload);
    }
    if (fclose(out)) abort();
}

/* ---- Tools --------------------------------------------------------------- */

// %: the trace; @: another one, as it was; #: a file to write; ~: a space.
static const char *const commands[] = {
    "ts-info %",
    "ts-info --verify --losses --tracks --chunks %",
    "ts-info --json %",
    "ts-view --width 100 %",
    "ts-view --events --limit 0 %",
    "ts-view --stats --limit 0 %",
    "ts-view --states --json %",
    "ts-view --width 60 --from 10us --to 20us --depth 8 %",
    "ts-export -o #.json %",
    "ts-export -o #.pftrace %",
    "ts-export -o #.dot --nodes 50 %",
    "ts-analyze %",
    "ts-analyze --json --top 3 %",
    "ts-analyze --html #.html %",
    "ts-analyze --folded #.folded --svg #.svg %",
    "ts-diff % @",
    "ts-diff --json @ %",
    "ts-diff --gate step+3% % %",
    "ts-query --save #.db %",
    "ts-query --json % SELECT~count(*)~FROM~gpu_op,operation",
    "ts-cut -o #.sbt --anonymise %",
    "ts-cut -o #.sbt --from 10us --to 60us --keep-deps both %",
    "ts-cut -o #.sbt --step 0..1 %",
    "ts-cut -o #.sbt --kind gpu --zone * %",
    "ts-merge -o #.sbt % @",
    "ts-merge -o #.sbt --shared-flows @ %",
    "ts-replay %",
    "ts-replay --mode model --json %",
    "ts-replay --what-if scale~.=0.5 %",
    "ts-replay --what-if network~2 --what-if host~0.5 --json %",
    "ts-replay --what-if serialise --what-if insert~x=5us~after~. %",
    "ts-replay --what-if ideal-overlap --what-if copy-engines~1 %",
    "ts-replay --what-if remove~. --what-if no-launch-overhead -o #.sbt %",
    "ts-replay --what-if fuse~. --what-if straggler~rank=0:0.5 %",
    "ts-replay --dry-run --json %",
    "ts-replay --races %",
    "ts-replay --explore 5 %",
    "ts-replay --loops 2 --digest %",
    "ts-replay --verify % @",
    "!ts-replay --execute --backend vdev %",
    "!ts-replay --execute --json %",
    "!ts-replay --bisect --execute -o #.sbt %",
    "!ts-replay --execute --extract any -o #.c %",
    "ts-symbolize --no-cache -o #.sbt %",
    "ts-mcp % @", // asked what is in QUESTIONS
};
#define QUESTIONS "tests/fuzz/corpus/mcp/session"
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char *tools, *folder;
static unsigned failures;

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

// Makes arguments of a command. `text` is changed and kept.
static void expand(char *text, char *arguments[16], const char *trace,
                   const char *other)
{
    static char made[16][600];
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && count < 15;
         word = strtok_r(NULL, " ", &rest)) {
        char *const to = made[count];
        if (!count)
            snprintf(to, sizeof made[0], "%s/%s", tools, word);
        else if (!strcmp(word, "%"))
            snprintf(to, sizeof made[0], "%s", trace);
        else if (!strcmp(word, "@"))
            snprintf(to, sizeof made[0], "%s", other);
        else if (*word == '#') {
            snprintf(to, sizeof made[0], "%s/out%s", folder, word + 1);
            unlink(to); // tools ask before they replace some files
        } else
            snprintf(to, sizeof made[0], "%s", word);
        for (char *at = to; (at = strchr(at, '~')) != NULL;)
            *at = ' ';
        arguments[count++] = to;
    }
    arguments[count] = NULL;
}

static void become(char *arguments[])
{
    const struct rlimit cpu = { CPU_S, CPU_S + 1 }, file = { 1 << 28, 1 << 28 };
    const int null = open("/dev/null", O_RDWR);
    const int asked = open(QUESTIONS, O_RDONLY);
    const bool asks = strstr(arguments[0], "/ts-mcp") != NULL;
    const int said =
        open(in_folder("said"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &file);
    dup2(asks ? asked : null, 0);
    dup2(null, 1);
    dup2(said, 2);
    alarm(ELAPSED_S);
    execv(arguments[0], arguments);
    _exit(127);
}

static const char *wrong(int status, bool refuses)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU
                   ? "runs for long"
                   : "dies of a signal";
    switch (WEXITSTATUS(status)) {
    case 0: return refuses ? "runs what nobody trusts" : NULL;
    case 1: // it says why
    case 2: // what was asked for is not in the trace, or nobody trusts it
    case 3: return NULL; // an answer that differs
    case SANITIZER: return "has a report of a sanitizer";
    default: return "exits as no tool may";
    }
}

static void try_tool(unsigned number, const char *name, const char *trace,
                     const char *other)
{
    char text[256], kept[64], *arguments[16];
    const bool refuses = commands[number][0] == '!';
    int status = 0;
    snprintf(text, sizeof text, "%s", commands[number] + refuses);
    expand(text, arguments, trace, other);
    fflush(stdout);
    const pid_t child = fork();
    if (!child) become(arguments);
    waitpid(child, &status, 0);
    const char *const why = wrong(status, refuses);
    if (!why) return;
    failures++;
    snprintf(kept, sizeof kept, "found-%s-%u", name, number);
    printf("%s.sbt: %s: %s (status 0x%x), with %s\n", kept,
           commands[number] + refuses, why, status, other);
    snprintf(text, sizeof text, "cp %s %s/%s.sbt; cp %s %s/%s.said", trace,
             folder, kept, in_folder("said"), folder, kept);
    if (system(text)) printf("    it cannot be kept\n");
}

int main(int argc, char **argv)
{
    unsigned some = 0, from = 0;
    for (; argc > 6 && argv[1][0] == '-'; argc -= 2, argv += 2) {
        if (!strcmp(argv[1], "--commands")) some = (unsigned)atoi(argv[2]);
        if (!strcmp(argv[1], "--from")) from = (unsigned)atoi(argv[2]);
    }
    if (argc < 5) return 2;
    const unsigned count = (unsigned)atoi(argv[1]);
    char **const traces = argv + 4, name[32], path[600];
    const size_t trace_count = (size_t)argc - 4;
    tools = argv[2];
    folder = argv[3];
    setenv("ASAN_OPTIONS", "exitcode=86:allocator_may_return_null=1", 1);
    setenv("UBSAN_OPTIONS", "exitcode=86", 1);
    for (size_t i = 0; !count && i < trace_count; i++) {
        snprintf(name, sizeof name, "as-it-is-%zu", i);
        for (unsigned k = 0; k < COMMANDS; k++)
            try_tool(k, name, traces[i], traces[0]);
    }
    snprintf(path, sizeof path, "%s/case.sbt", folder);
    for (unsigned i = from; i < from + count; i++) {
        seed = i;
        const char *const trace = traces[below(trace_count)];
        const char *const other = traces[below(trace_count)];
        if (!load(trace)) {
            printf("%s: cannot be taken apart\n", trace);
            return 1;
        }
        change();
        write_trace(path);
        snprintf(name, sizeof name, "%u", i);
        for (unsigned k = 0; k < (some ? some : COMMANDS); k++)
            try_tool(some ? (unsigned)below(COMMANDS) : k, name, path, other);
    }
    printf("%u cases, %u findings\n", count, failures);
    return failures > 0;
}
