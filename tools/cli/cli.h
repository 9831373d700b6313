/*
    cli.h - the manners that all tools share

    Options and help, messages and exit codes, number formats, JSON, the
    terminal, opening a trace. The code is in tools/cli/. Include it before
    any other header. Texts out of a trace may hold any bytes: print them with
    cli_put_text or cli_json_text only.
*/
#ifndef TS_TOOLS_CLI_CLI_H
#define TS_TOOLS_CLI_CLI_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/map.h"
#ifndef TRACESMITH_WRITER
#define TRACESMITH_WRITER // before the first include
#endif
#include "tracesmith_replay.h"

/* ==== 1. Options ========================================================= */

// What main returns. ts-replay has codes of its own.
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/*
    `name` is as --help shows it: "--json", "--from TIME", "-o, --output FILE".
    An option with `text`, `number` or `time_ns` takes a value and puts it
    there; `flag`, allowed beside these, becomes true when the option is given.
    "--name[=VALUE]" needs none: then the flag alone is set.
    With `list` it may be given several times and each value is kept.
*/
enum { CLI_LIST_MOST = 64 };
typedef struct cli_list {
    const char *items[CLI_LIST_MOST];
    size_t count;
} cli_list;

typedef struct cli_option {
    const char *name, *help; // help may hold line breaks
    bool *flag;
    const char **text;
    uint64_t *number;
    int64_t *time_ns;
    cli_list *list;
} cli_option;

typedef struct cli_tool {
    const char *name;          // "ts-info"
    const char *usage;         // "[options] FILE"
    const char *about;         // what it does, one sentence or more lines
    const cli_option *options; // ends with { 0 }
    bool command; // the first operand is a command: what follows is its own
} cli_tool;

/*
    Takes the options out of argv: argv[1] to argv[*argc - 1] are what is left,
    "-" among it. Adds --help and --version. Ends the process for these two
    and, with CLI_USAGE, for wrong usage.
*/
void cli_parse(const cli_tool *tool, int *argc, char **argv);

// Prints a short usage to stderr; returns CLI_USAGE.
int cli_usage(const cli_tool *tool);

// "TOOL: FILE: message" on stderr, on one line whatever names are in it; `file`
// may be NULL. In a call of the library: for its observer, see context.h.
__attribute__((format(printf, 3, 4))) void
cli_error(const cli_tool *tool, const char *file, const char *format, ...);
// The same of the reason why a call fails. Returns false.
__attribute__((format(printf, 4, 5))) bool cli_fail(const cli_tool *tool,
                                                    ts_result result,
                                                    const char *file,
                                                    const char *format, ...);
bool cli_out_of_memory(const cli_tool *tool); // likewise
// What to do about the failure before.
__attribute__((format(printf, 2, 3))) void cli_hint(const cli_tool *tool,
                                                    const char *format, ...);

// Such a message in parts: begin it, print the rest, which may have several
// lines, to what that returns, and end it as one of the three.
FILE *cli_error_begin(const cli_tool *tool, const char *file);
void cli_error_end(void);
bool cli_fail_end(ts_result result); // returns false
void cli_hint_end(void);

// What a failed call of the system comes to.
ts_result cli_errno_result(int number);

// stdout; in a call of the library: what its results are written to.
FILE *cli_stdout(void);
__attribute__((format(printf, 1, 2))) void cli_print(const char *format, ...);

// Flushes stdout. Returns `code`, or CLI_FAILED when output was lost, which
// it says. The last thing that main does.
int cli_finish(const cli_tool *tool, int code);

// "1.5ms", "20us", "-3s", "100ns", "0" to nanoseconds, exactly. False if it
// is no time.
bool cli_parse_time(const char *text, int64_t *ns);

// "64MiB", "1.5GB", "4096" to bytes. False if it is no size.
bool cli_parse_bytes(const char *text, uint64_t *size);

/*
    What LIST and REGEX mean in every tool. A list has patterns of whole names,
    in which * stands for anything. A regular expression (POSIX, extended)
    matches a part of a name, as it was recorded or, of a mangled one, as
    reports show it; ^ and $ are the ends.
*/
// Whether `pattern` matches all of `text`; * stands for anything.
bool cli_matches(const char *pattern, size_t pattern_size, const char *text,
                 size_t size);
// Whether `name` matches one of the patterns of a comma-separated list, in
// which * stands for any characters.
bool cli_list_has(const char *list, const char *name, size_t size);

// The nearest of the names that a mistyped word may have meant. Start with
// { .word = word } and try each name; name stays NULL where none is near.
typedef struct cli_near {
    const char *word, *name;
    size_t size, far; // of the name; how many letters differ
} cli_near;
void cli_near_try(cli_near *near, const char *name, size_t size);

/* ==== 2. Text ============================================================ */

typedef struct cli_text { // for use within an argument list: cli_time(ns).s
    char s[48];
} cli_text;

// False: it is no expression, `why` says what is wrong. Free: regfree.
bool cli_regex_open(regex_t *regex, const char *text, size_t size,
                    cli_text *why);
bool cli_regex_matches(const regex_t *regex, ts_text name);

// As printf; cut at 47 bytes.
__attribute__((format(printf, 1, 2))) cli_text cli_format(const char *format,
                                                          ...);
cli_text cli_count(uint64_t count); // 1,234,567
// "1 record is", "2,000 records are": a count and the words that go with it.
cli_text cli_counted(uint64_t count, const char *one, const char *more);
cli_text cli_bytes(uint64_t size); // 1.50 MiB
/*
    Durations and moments, everywhere the same: a number, a space, a unit. What
    is to be typed, an option's value, has no space. A moment has so many
    decimals that it can be found again; what is behind them is cut off.
*/
cli_text cli_time(int64_t ns);               // 1.500 ms
cli_text cli_short_time(int64_t ns);         // 1.50 ms, at most 7 columns
cli_text cli_moment(int64_t ns, int digits); // 0.001500 s
cli_text cli_real(double value);             // 1.5, six digits that count
cli_text cli_percent(double share);          // share 1.0 is "100.0 %"
// How far something moved: "+1.5 %", "-0.25 %". What rounds to nothing has no
// sign: "0.0 %".
cli_text cli_change(double share, int digits);
// "2026-11-21 14:03:07.123456789 UTC"
cli_text cli_date(uint64_t realtime_ns);

// Decodes one character; *code is U+FFFD for a byte that is no UTF-8.
// Returns the bytes taken, 0 at the end.
size_t cli_utf8(const char *text, size_t size, uint32_t *code);

// Whether a character steers what shows it: controls of terminals, and those
// that turn the direction of text, by which a name could read as another.
bool cli_is_control(uint32_t code);
// Prints a text with such characters and invalid UTF-8 made harmless.
void cli_put_text(FILE *out, const char *text, size_t size);
// The same of a path: "-" is "standard input".
void cli_put_path(FILE *out, const char *path);
// The same as one word of a command, quoted for the shell where it must be.
void cli_put_word(FILE *out, const char *word);
// Columns that a character takes on a terminal: 0 for what combines with the
// one before, 2 for the wide ones of East Asia; of a whole text; the bytes of
// what fits into so many.
uint32_t cli_code_columns(uint32_t code);
uint32_t cli_columns(const char *text, size_t size);
size_t cli_columns_fit(const char *text, size_t size, uint32_t columns);
// As cli_put_text, cut or padded to a number of columns.
void cli_put_padded(FILE *out, const char *text, size_t size, uint32_t width);
/*
    Words in lines of `width` columns, all but the first with an indentation;
    `first`: the columns that its first line has already, a word if these are
    more than the indentation. A number and its unit stay on one line. Ends
    with a line break.
*/
void cli_put_wrapped(FILE *out, ts_text text, uint32_t indent, uint32_t first,
                     uint32_t width);
// A text cut to a number of columns, to be freed: its start and its end with
// dots (NULL: what the terminal can show) between them. NULL without memory.
char *cli_cut(const char *text, size_t size, uint32_t width, const char *dots);
/*
    The names in one column of a table, cut to a number of columns so that no
    two that differ look alike: `count` texts, NULL for what fits as it is. Of a
    function what is left out first is where it is from, and its parameters.
    Free: cli_cuts_free. NULL without memory.
*/
char **cli_cut_names(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots);
// The same of texts of any sort: nothing is left out but for the dots.
char **cli_cut_texts(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots);
void cli_cuts_free(char **cuts, size_t count);

// A name of C++ or Rust as people read it, to be freed; NULL: it is none, its
// text would be too long, or the machine has no C++ library that knows.
char *cli_demangle(const char *name);
/*
    A name without what differs between instances of a template: arguments
    become <...>, parameters and a leading "void " are left out. A new text, to
    be freed; NULL without memory.
*/
char *cli_collapse_name(const char *name, size_t size);
// The same for where there is little room: what namespaces and types say in
// front of a name is left out, too; template arguments stay.
char *cli_brief_name(const char *name, size_t size);
// The function alone, within `name`, of a name as people read it:
// "void ns::f<int>(char *)" gives "f".
ts_text cli_short_name(ts_text name);

/* ==== 3. JSON ============================================================ */

/*
    Writes JSON, one call a value. `key` is NULL in arrays and for the first
    value. Values from depth `lines` on share one line.

        cli_json json = { .out = stdout, .lines = 2 };
        cli_json_open(&json, NULL, '{');
        cli_json_int(&json, "duration_ns", 5);
        cli_json_close(&json, '}');
*/
typedef struct cli_json {
    FILE *out;
    uint32_t lines;
    uint32_t depth; // private
    bool filled;    // private
} cli_json;

void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json, char bracket);
void cli_json_int(cli_json *json, const char *key, int64_t value);
void cli_json_uint(cli_json *json, const char *key, uint64_t value);
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_null(cli_json *json, const char *key);
// Escapes what must be; invalid UTF-8 becomes U+FFFD.
void cli_json_text(cli_json *json, const char *key, const char *text,
                   size_t size);
void cli_json_string(cli_json *json, const char *key, const char *text);
// One of several traces that are replayed together; NULL: it has no rank.
void cli_json_file(cli_json *json, const char *path, const int64_t *rank,
                   const ts_replay_file *file);

/* ==== 4. Terminal ======================================================== */

// A terminal on which the cursor can move: TERM is neither dumb nor missing.
bool cli_terminal(FILE *stream);
// A terminal, NO_COLOR is empty, TERM is neither dumb nor missing.
bool cli_color(FILE *stream);
// False only where the locale names another character set.
bool cli_unicode(void);
// Columns of the terminal of stdout, COLUMNS elsewhere, else 80.
uint32_t cli_width(void);
// Whether a line may not be longer than cli_width: on a terminal, and where
// COLUMNS says so. A file has no width.
bool cli_has_width(void);
uint32_t cli_height(void);
// Whether that is less than the 80 columns for which texts are written.
bool cli_is_narrow(void);
// From here on lines of stdout that are wider than a narrow terminal go on in
// the next ones, but for commands to copy. For text alone.
void cli_fold(void);

/*
    One line on stderr while something takes long: on a terminal only, not
    before 500 ms, at most ten times a second. Start with { 0 }.
*/
typedef struct cli_progress {
    const char *what;           // "exporting"
    uint64_t start_ns, last_ns; // private
    bool shown;                 // private
} cli_progress;

void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total);
void cli_progress_end(cli_progress *progress); // erases it
// The same on stderr also in a call of the library, whose observer shows it.
void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t total);
void cli_progress_erase(cli_progress *progress);

/* ==== 5. Traces ========================================================== */

typedef struct cli_trace {
    ts_reader *reader;
    const ts_info *info; // stays valid over a refresh
    void *bytes;         // of stdin
    const char *path;    // as it was opened; not copied
} cli_trace;

// How much cli_trace_open says on stderr.
typedef enum cli_warn {
    CLI_WARN_ALL = 0, // what cli_trace_warn says
    CLI_WARN_NONE = 1 // the tool shows or says it itself
} cli_warn;

/*
    Opens a trace ("-": stdin, read to its end). On failure says why on stderr
    and returns false. desc: how, `path` is filled in; NULL: the default.
*/
bool cli_trace_open(cli_trace *trace, const cli_tool *tool, const char *path,
                    const ts_reader_desc *desc, cli_warn warn);
// Says what there is of salvage, damage and losses.
void cli_trace_warn(const cli_trace *trace, const cli_tool *tool,
                    const char *path);
// Says what was damaged, from entry `from` of the reader's list on; returns
// how many entries the list has.
size_t cli_trace_damage(const cli_trace *trace, const cli_tool *tool,
                        const char *path, size_t from);
void cli_trace_close(cli_trace *trace);
// Called after a trace was opened, by whom it is that shows a part of it alone
// (NULL: nobody does). False, with the reason on stderr, if there is none.
extern bool (*cli_trace_opened)(cli_trace *trace, const cli_tool *tool);
// Called before a reader is closed, by whom it is that keeps things of readers
// (NULL: nobody does).
extern void (*_Atomic cli_trace_closing)(const ts_reader *reader);
// Whether this user recorded exactly these bytes: ts-record lists traces that
// hold code in a folder of the user's own, see docs/security.md. All of the
// file is read.
bool cli_trace_is_own(const ts_reader *reader);
// Lists one that this user recorded, or that was made of such traces alone.
void cli_trace_own(const char *path);

// BLAKE2b: begin, add as often as you like, end.
enum { CLI_DIGEST_BYTES = 32 };
typedef struct cli_digest {
    uint64_t state[8], size; // size: in bytes, of what `state` holds
    uint8_t block[128];
    size_t held; // bytes of the block
} cli_digest;
void cli_digest_begin(cli_digest *d);
void cli_digest_add(cli_digest *d, const void *bytes, size_t size);
void cli_digest_end(cli_digest *d, uint8_t digest[CLI_DIGEST_BYTES]);

// False, with the reason on stderr, if no event can lie between these times
// (NULL: not given): a window outside of the trace shows nothing.
bool cli_window_check(const cli_trace *trace, const cli_tool *tool,
                      const int64_t *from_ns, const int64_t *to_ns);
// Of a part that a time was cut out of, whose operations are whole: that time,
// to which shares and sums are clipped. Else false.
bool cli_clip(const ts_reader *reader, int64_t *from_ns, int64_t *to_ns);

// "ring_full 1,234, disk_full 5": how many records each cause has cost, but for
// one that is no loss here (-1: each is).
typedef struct cli_causes {
    char s[512];
} cli_causes;
cli_causes cli_loss_causes(const ts_reader *reader, int but);
// Events of the kinds that this version knows.
uint64_t cli_event_count(const ts_info *info);

// Whether two paths ("-": stdin) are of one file that exists.
bool cli_same_file(const char *a, const char *b);
// False, with the reason on stderr, if two of several traces of one process
// each are of one file or session: what it did would count twice. The traces
// are members of an array's elements, `stride` bytes each.
bool cli_traces_distinct(const cli_tool *tool, const cli_trace *first,
                         size_t count, size_t stride);
bool cli_trace_distinct(const cli_tool *tool, const cli_trace *a,
                        const cli_trace *b);
// False, with the reason on stderr, if a trace cannot go there: it is one of
// `count` inputs, or no file.
bool cli_output_check(const cli_tool *tool, const char *path,
                      const char *const *inputs, size_t count);
// True, or false with the reason on stderr: it exists and is a folder, a
// device, a pipe.
bool cli_regular_check(const cli_tool *tool, const char *path);
// Opens what is read without ever waiting for a writer: a file, or a pipe that
// has no name, such as a shell's <(...). -1 and *why on failure.
int cli_open_input(const char *path, const char **why);
// The same of what a file of somebody else names: a file, or -1.
int cli_open_plain(const char *path);
// False, with the reason on stderr, if stdin is there more than once.
bool cli_inputs_check(const cli_tool *tool, const char *const *inputs,
                      size_t count);

// What a file is, by its contents.
typedef enum cli_kind {
    CLI_ANY, // none of these; of an output: whatever was there may go
    CLI_TRACE,
    CLI_DATABASE,
    CLI_GZIP,
    CLI_HTML,
    CLI_SVG,
    CLI_JUNIT,
    CLI_CHROME, // JSON as ts-export writes it; others may not go
    CLI_JSON,
    CLI_DOT,
    CLI_PERFETTO,
    CLI_MARKDOWN,
    CLI_FOLDED
} cli_kind;

// True if nothing is at a path, or an empty file, or one of this kind, which an
// output may replace; else false, with the reason on stderr. Pipes and devices
// are no loss.
bool cli_replace_check(const cli_tool *tool, const char *path, cli_kind kind);
// The same where several traces make one, so that a forgotten name of the
// output is one of them: only a trace with that metadata is replaced.
bool cli_joined_check(const cli_tool *tool, const char *path, const char *key);

// What an option writes ("-": stdout); the path is NULL if it is not given.
typedef struct cli_output {
    const char *option, *path;
    cli_kind kind;
} cli_output;

// False, with the reason on stderr, if two outputs go to one place or one
// replaces an input or a file of another kind. To be asked before anything is
// read.
bool cli_outputs_check(const cli_tool *tool, const cli_output *outputs,
                       size_t count, const char *const *inputs,
                       size_t input_count);

/*
    A file that takes its name when all of it is written; until then what had
    that name stays as it is. "-" is stdout; pipes and devices are written as
    they are. Both say on stderr why they fail.
*/
typedef struct cli_out {
    FILE *stream;
    char *beside;         // where it is written until then; NULL: in place
    char *target;         // private
    const cli_tool *tool; // private
    const char *path;     // private
} cli_out;

bool cli_out_open(cli_out *out, const cli_tool *tool, const char *path);
// Without `keep` nothing is left of it, and it is false.
bool cli_out_close(cli_out *out, bool keep);

// Order of gaps of devices, for qsort: the longest first.
int cli_gap_order(const ts_gap *a, size_t a_device, const ts_gap *b,
                  size_t b_device);

// "thread", "stream", ...; "track" for a type of a later version.
const char *cli_track_type(ts_track_type type);
// Its name; without one its type and number, made in *made.
ts_text cli_track_name(const ts_track *track, cli_text *made);

#endif // TS_TOOLS_CLI_CLI_H
