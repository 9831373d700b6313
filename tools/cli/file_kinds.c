/*
    file_kinds.c - detects file types, so that no output replaces another type

    If the value of an option is forgotten, the next word is taken for it, which
    may be a trace. So an output may replace only a file of the same kind.
*/
#include "tools/cli/cli.h"
#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

enum { HEAD = 4096 };

typedef struct head {
    char bytes[HEAD + 1]; // ends with a zero
    size_t size;
} head;

static bool starts(const head *h, const char *text)
{
    const size_t size = strlen(text);
    return h->size >= size && !memcmp(h->bytes, text, size);
}

// Whether a file begins with a text, after blanks and in any case.
static bool opens(const head *h, const char *text)
{
    const char *at = h->bytes;
    while (isspace((unsigned char)*at))
        at++;
    while (*text && tolower((unsigned char)*at) == *text)
        at++, text++;
    return !*text;
}

static bool is_trace(const head *h)
{
    return starts(h, TS_FILE_MAGIC);
}

static bool is_database(const head *h)
{
    return starts(h, "SQLite format 3");
}

static bool is_html(const head *h)
{
    return opens(h, "<!doctype html") || opens(h, "<html");
}

static bool is_svg(const head *h)
{
    return opens(h, "<svg") || (opens(h, "<?xml") && strstr(h->bytes, "<svg"));
}

static bool is_junit(const head *h)
{
    return opens(h, "<testsuite") ||
           (opens(h, "<?xml") && strstr(h->bytes, "<testsuite"));
}

// Whether a file begins as ts-export writes it. Files of profilers begin
// differently, and may be the only copy of a measurement.
static bool is_chrome(const head *h)
{
    return starts(h, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
}

static bool is_kineto(const head *h)
{
    return starts(h, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\n");
}

static bool is_speedscope(const head *h)
{
    return starts(h, "{\"exporter\":\"TraceSmith ");
}

// The first two strings of its table.
static bool is_pprof(const head *h)
{
    static const char begin[] = "\x32\0\x32\x0ATraceSmith";
    return h->size >= sizeof begin - 1 &&
           !memcmp(h->bytes, begin, sizeof begin - 1);
}

// Its metadata: the version, and the first attribute.
static bool is_chakra(const head *h)
{
    static const char begin[] = "\x0A\x05"
                                "1.0.0\x12\x17\x0A\x08"
                                "exporter\xEA\x01\x0ATraceSmith";
    return h->size > sizeof begin - 1 &&
           !memcmp(h->bytes + 1, begin, sizeof begin - 1);
}

static bool is_json(const head *h)
{
    return opens(h, "{") || opens(h, "[");
}

static bool is_dot(const head *h)
{
    return opens(h, "digraph") || opens(h, "strict digraph");
}

// Protobuf: `Trace.packet` is field 1, with a length, and so are the types of
// pprof and the planes of XPlane. A packet of ts-export begins with the number
// of its sequence (field 10) or holds others, compressed (field 50).
static bool is_perfetto(const head *h)
{
    size_t at = 1;
    if (!starts(h, "\x0A")) return false;
    while (at < h->size && (uint8_t)h->bytes[at] >= 0x80)
        at++;
    const size_t left = h->size > at ? h->size - at - 1 : 0;
    const char *const packet = h->bytes + at + 1;
    return (left && *packet == '\x50') ||
           (left > 1 && !memcmp(packet, "\x92\x03", 2));
}

#ifdef TRACESMITH_ZLIB
// Decompresses the start of a file.
static void unpack(const head *packed, head *h)
{
    enum { OF_GZIP = 16 }; // zlib.h, inflateInit2: added to the window
    z_stream z = { .next_in = (Bytef *)(uintptr_t)packed->bytes,
                   .avail_in = (uInt)packed->size,
                   .next_out = (Bytef *)h->bytes,
                   .avail_out = HEAD };
    h->size = 0;
    if (inflateInit2(&z, OF_GZIP + MAX_WBITS) == Z_OK) {
        inflate(&z, Z_SYNC_FLUSH);
        h->size = HEAD - z.avail_out;
        inflateEnd(&z);
    }
    h->bytes[h->size] = 0;
}
#else
static void unpack(const head *packed,
                   head *h) // without zlib no output is compressed
{
    (void)packed;
    h->bytes[h->size = 0] = 0;
}
#endif

// Whether a compressed file is an output of ours: profilers write such files,
// too.
static bool is_gzip(const head *h)
{
    head inside;
    if (!starts(h, "\x1F\x8B")) return false;
    unpack(h, &inside);
    return is_chrome(&inside) || is_kineto(&inside) || is_perfetto(&inside) ||
           is_speedscope(&inside) || is_pprof(&inside);
}

static bool is_markdown(const head *h)
{
    return opens(h, "#") || opens(h, "|");
}

// Folded stacks: lines of a stack, a blank and a number; the last may be cut.
static bool is_folded(const head *h)
{
    const char *line = h->bytes;
    if (strlen(h->bytes) != h->size) return false;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *digit = end;
        while (digit > line && isdigit((unsigned char)digit[-1]))
            digit--;
        if (digit == end || digit <= line + 1 || digit[-1] != ' ') return false;
    }
    return line > h->bytes;
}

static bool is_parquet(const head *h)
{
    return starts(h, "PAR1");
}

static const struct {
    cli_kind kind;
    const char *name;
    bool (*is)(const head *h);
} kinds[] = {
    { CLI_TRACE, "a trace (SBT)", is_trace },
    { CLI_DATABASE, "an SQLite database", is_database },
    { CLI_GZIP, "a gzip file that ts-export wrote", is_gzip },
    { CLI_HTML, "an HTML page", is_html },
    { CLI_SVG, "an SVG picture", is_svg },
    { CLI_JUNIT, "a JUnit report", is_junit },
    { CLI_CHROME, "a JSON file that ts-export wrote", is_chrome },
    { CLI_KINETO, "a Kineto trace that ts-export wrote", is_kineto },
    { CLI_SPEEDSCOPE, "a speedscope profile that ts-export wrote",
      is_speedscope },
    { CLI_PPROF, "a pprof profile that ts-export wrote", is_pprof },
    { CLI_CHAKRA, "a Chakra trace that ts-export wrote", is_chakra },
    { CLI_FOLDED, "a file of folded stacks", is_folded },
    { CLI_JSON, "a JSON file", is_json },
    { CLI_DOT, "a graph for Graphviz", is_dot },
    { CLI_PERFETTO, "a Perfetto trace that ts-export wrote", is_perfetto },
    { CLI_MARKDOWN, "a Markdown text", is_markdown },
    { CLI_PARQUET, "a Parquet file", is_parquet },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *name_of(cli_kind kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind) return kinds[i].name;
    return "";
}

static cli_kind kind_of(const head *h)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].is(h)) return kinds[i].kind;
    return CLI_ANY;
}

// Reads the start of a file. False if there is no file that could be lost.
static bool read_head(head *h, const char *path)
{
    struct stat st;
    h->size = 0;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size) return false;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t got = read(fd, h->bytes, HEAD);
        h->size = got > 0 ? (size_t)got : 0;
        close(fd);
    }
    h->bytes[h->size] = 0;
    return true;
}

bool cli_joined_check(const cli_tool *tool, const char *path, const char *key)
{
    head h;
    ts_reader *reader = NULL;
    ts_metadata found;
    const ts_reader_desc desc = { .path = path, .no_salvage = true };
    if (!read_head(&h, path)) return true;
    const bool own = ts_reader_open(&reader, &desc) == TS_OK &&
                     ts_reader_metadata(reader, 0, key, &found);
    ts_reader_close(reader);
    if (!own)
        cli_fail(tool, TS_ERR_IO, path,
                 "exists and was not written by %s; if it is an input, name "
                 "the output with -o, otherwise remove it",
                 tool->name);
    return own;
}

bool cli_replace_check(const cli_tool *tool, const char *path, cli_kind kind)
{
    head h;
    if (kind == CLI_ANY || !strcmp(path, "-") || !read_head(&h, path))
        return true;
    const cli_kind old = kind_of(&h);
    if (old == kind) return true;
    cli_fail(tool, TS_ERR_IO, path,
             "exists and is %s%snot %s: remove it, or choose another output",
             name_of(old), old == CLI_ANY ? "" : ", ", name_of(kind));
    return false;
}
