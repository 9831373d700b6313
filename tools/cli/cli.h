/*
    cli.h - what all tools share

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
#include "tools/cli/operations.h"

/* ==== 1. Options ========================================================= */

// What main returns. ts-replay has codes of its own.
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/*
    `name` is as --help shows it: "--json", "--from TIME", "-o, --output FILE".
    An option with `text`, `number` or `time_ns` takes a value and stores it
    there. `flag`, which may be combined with them, becomes true when the option
    is given.
    The value of "--name[=VALUE]" is optional: without it only `flag` is set.
    An option with `list` may be given several times; `list` receives every
    value.
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
    bool command; // parsing ends at the first operand, which is a command
} cli_tool;

/*
    Parses the options and removes them from argv: argv[1] to argv[*argc - 1]
    are the operands ("-" is one). Adds --help and --version, which print and
    end the process. Wrong usage ends it with CLI_USAGE.
*/
void cli_parse(const cli_tool *tool, int *argc, char **argv);

// Prints a short usage to stderr; returns CLI_USAGE.
int cli_usage(const cli_tool *tool);

// Prints "TOOL: FILE: message" to stderr, on one line even if a name contains
// line breaks. `file` may be NULL. In a call of the library the message goes to
// its observer: see context.h.
__attribute__((format(printf, 3, 4))) void
cli_error(const cli_tool *tool, const char *file, const char *format, ...);
// Like cli_error; the message is the reason why the tool or the call of the
// library fails, with `result`. Returns false.
__attribute__((format(printf, 4, 5))) bool cli_fail(const cli_tool *tool,
                                                    ts_result result,
                                                    const char *file,
                                                    const char *format, ...);
bool cli_out_of_memory(const cli_tool *tool); // likewise
// Prints what the user can do about the failure that was reported before.
__attribute__((format(printf, 2, 3))) void cli_hint(const cli_tool *tool,
                                                    const char *format, ...);

// A message in parts: cli_error_begin returns the stream for the rest of the
// text, which may have several lines; one of the three *_end functions ends it
// as an error, a failure or a hint.
FILE *cli_error_begin(const cli_tool *tool, const char *file);
// Ends it as an error.
void cli_error_end(void);
// Ends it as a failure with this result. Returns false.
bool cli_fail_end(ts_result result);
// Ends it as a hint.
void cli_hint_end(void);

// Converts an errno value to a result.
ts_result cli_errno_result(int number);

// Returns stdout; in a call of the library, the stream for its results.
FILE *cli_stdout(void);
__attribute__((format(printf, 1, 2))) void cli_print(const char *format, ...);

// Flushes stdout. Returns `code`; if output was lost, reports it and returns
// CLI_FAILED. main calls it last.
int cli_finish(const cli_tool *tool, int code);

// Parses a time such as "1.5ms", "20us", "-3s", "100ns" or "0" into exact
// nanoseconds. False if the text is not a time.
bool cli_parse_time(const char *text, int64_t *ns);

// Parses a size such as "64MiB", "1.5GB" or "4096" into bytes. False if the
// text is not a size.
bool cli_parse_bytes(const char *text, uint64_t *size);

/*
    The meaning of LIST and REGEX in every tool. A list consists of patterns
    that match whole names; * stands for any characters. A regular expression
    (POSIX, extended) matches any part of a name as it was recorded; a mangled
    name also matches in its demangled form. ^ and $ match the ends.
*/
// Whether `pattern` matches all of `text`; * stands for anything.
bool cli_matches(const char *pattern, size_t pattern_size, const char *text,
                 size_t size);
// Whether `name` matches one of the patterns of a comma-separated list, in
// which * stands for any characters.
bool cli_list_has(const char *list, const char *name, size_t size);

// Finds the known name that is most similar to a mistyped word. Start with
// { .word = word } and call cli_near_try for each name; `name` remains NULL if
// no name is similar.
typedef struct cli_near {
    const char *word, *name;
    size_t size, far; // length of `name`; number of differing letters
} cli_near;
// Compares the word with a known name, which must stay valid.
void cli_near_try(cli_near *near, const char *name, size_t size);

/* ==== 2. Text ============================================================ */

typedef struct cli_text { // returned by value: printf("%s", cli_time(ns).s)
    char s[48];
} cli_text;

// Compiles a regular expression. False if it is invalid; `why` receives the
// reason. Free with regfree.
bool cli_regex_open(regex_t *regex, const char *text, size_t size,
                    cli_text *why);
// Whether it matches a part of a name.
bool cli_regex_matches(const regex_t *regex, ts_text name);

static inline bool cli_same_text(ts_text a, ts_text b)
{
    return a.size == b.size && !memcmp(a.text, b.text, a.size);
}

static inline bool cli_is_text(ts_text text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

// Formats as printf does; the text is cut at 47 bytes.
__attribute__((format(printf, 1, 2))) cli_text cli_format(const char *format,
                                                          ...);
cli_text cli_count(uint64_t count); // 1,234,567

// What a unit measures, and how many ns or bytes it has.
typedef struct cli_unit {
    enum { CLI_NUMBER, CLI_TIME, CLI_SIZE } of;
    double scale;
} cli_unit;
// Returns a unit by its name, such as "ms" or "bytes" (units.c). Names that it
// does not know are of a number.
cli_unit cli_unit_of(ts_text name);
// Samples of one unit. Where a tool shows only one of several, it is the one
// that leads: times before all others, of times those of the largest total, of
// others those with the most samples.
typedef struct cli_samples {
    bool are_times;
    double total;
    uint64_t count;
} cli_samples;
bool cli_samples_lead(cli_samples later, cli_samples earlier);
// A count with its singular or plural words: "1 record is", "2,000 records
// are".
cli_text cli_counted(uint64_t count, const char *one, const char *more);
cli_text cli_bytes(uint64_t size); // 1.50 MiB
/*
    All tools print durations and moments as a number, a space and a unit; the
    values of options are typed without the space. A moment is printed with
    `digits` decimals, and truncated rather than rounded, so that it can be
    looked up in the trace.
*/
cli_text cli_time(int64_t ns);               // 1.500 ms
cli_text cli_short_time(int64_t ns);         // 1.50 ms, at most 7 columns
cli_text cli_moment(int64_t ns, int digits); // 0.001500 s
cli_text cli_real(double value);             // 1.5, six significant digits
cli_text cli_percent(double share);          // share 1.0 is "100.0 %"
// A relative change with its sign: "+1.5 %", "-0.25 %". A change that rounds to
// zero has no sign: "0.0 %".
cli_text cli_change(double share, int digits);
// "2026-11-21 14:03:07.123456789 UTC"
cli_text cli_date(uint64_t realtime_ns);

// Decodes one character; *code is U+FFFD for a byte that is not valid UTF-8.
// Returns the number of bytes consumed, 0 at the end of the text.
size_t cli_utf8(const char *text, size_t size, uint32_t *code);

// Whether a character is a terminal control or changes the direction of text
// (with which a name could be made to look like another one).
bool cli_is_control(uint32_t code);
// Prints a text; control characters and invalid UTF-8 are replaced.
void cli_put_text(FILE *out, const char *text, size_t size);
// Prints a path like cli_put_text; "-" becomes "standard input".
void cli_put_path(FILE *out, const char *path);
// Prints one word of a command line, quoted for the shell if necessary.
void cli_put_word(FILE *out, const char *word);
// The number of terminal columns of a character: 0 for a combining character, 2
// for a wide one of East Asia.
uint32_t cli_code_columns(uint32_t code);
// The number of terminal columns of a text.
uint32_t cli_columns(const char *text, size_t size);
// The number of bytes of the longest prefix that fits into `columns` columns.
size_t cli_columns_fit(const char *text, size_t size, uint32_t columns);
// Prints like cli_put_text, cut or padded to `width` columns.
void cli_put_padded(FILE *out, const char *text, size_t size, uint32_t width);
/*
    Prints a text as lines of at most `width` columns; all lines but the first
    are indented by `indent`. `first` is the number of columns already printed
    on the first line; if it exceeds `indent`, a word has been printed there. A
    number and its unit are not separated. Ends with a line break.
*/
void cli_put_wrapped(FILE *out, ts_text text, uint32_t indent, uint32_t first,
                     uint32_t width);
// Returns a copy of a text cut to `width` columns: its start, `dots` (NULL: an
// ellipsis that the terminal can show) and its end. Free with free(). NULL
// without memory.
char *cli_cut(const char *text, size_t size, uint32_t width, const char *dots);
/*
    Shortens the `count` names of one table column to `width` columns so that
    different names still look different. A result is NULL for a name that fits
    unchanged. Of a function's name, the namespace and the parameters are left
    out first. Free with cli_cuts_free. NULL without memory.
*/
char **cli_cut_names(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots);
// Like cli_cut_names for texts that are not names: each is only cut, with dots.
char **cli_cut_texts(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots);
// Frees the names or texts.
void cli_cuts_free(char **cuts, size_t count);

// Demangles a name of C++ or Rust. Free with free(). NULL if it is not a
// mangled name, if the result would be too long, or if this machine has no C++
// library that can demangle it.
char *cli_demangle(const char *name);
/*
    Returns a name that all instances of a template have in common: template
    arguments become <...>, parameters and a leading "void " are left out. Free
    with free(); NULL without memory.
*/
char *cli_collapse_name(const char *name, size_t size);
// Like cli_collapse_name, for narrow columns: the enclosing namespaces and
// types are left out, too; template arguments are kept.
char *cli_brief_name(const char *name, size_t size);
// The plain function name within a demangled name: "f" of
// "void ns::f<int>(char *)". The result points into `name`.
ts_text cli_short_name(ts_text name);

// Returns whether a name contains a text that is not empty.
bool cli_has(ts_text name, const char *part);

/* ==== 3. JSON ============================================================ */

/*
    Writes JSON, one call for each value. `key` is NULL in arrays and for the
    outermost value. Values nested `lines` deep or deeper share one line.

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

// Opens an object, '{', or an array, '['. key: as in all of these functions,
// the name of the member of an object; NULL in an array.
void cli_json_open(cli_json *json, const char *key, char bracket);
// Closes it: '}' or ']'.
void cli_json_close(cli_json *json, char bracket);
// Writes an integer.
void cli_json_int(cli_json *json, const char *key, int64_t value);
// Writes an unsigned integer.
void cli_json_uint(cli_json *json, const char *key, uint64_t value);
// Writes a number in floating point.
void cli_json_real(cli_json *json, const char *key, double value);
// Writes true or false.
void cli_json_bool(cli_json *json, const char *key, bool value);
// Writes null.
void cli_json_null(cli_json *json, const char *key);
// Writes a string, escaped as JSON requires; invalid UTF-8 becomes U+FFFD.
void cli_json_text(cli_json *json, const char *key, const char *text,
                   size_t size);
// The same for a string that ends with a zero byte.
void cli_json_string(cli_json *json, const char *key, const char *text);
// Writes a value that is JSON already.
void cli_json_raw(cli_json *json, const char *key, const char *text,
                  size_t size);
// Writes the object of one of several traces that are replayed together.
// rank: NULL if the trace has none.
void cli_json_file(cli_json *json, const char *path, const int64_t *rank,
                   const ts_replay_file *file);

/* ==== 4. Terminal ======================================================== */

// Whether the stream is a terminal on which the cursor can be moved: TERM is
// set and not "dumb".
bool cli_terminal(FILE *stream);
// Whether to print colours: cli_terminal, and NO_COLOR is empty or not set.
bool cli_color(FILE *stream);
// Whether UTF-8 can be printed: false only if the locale names another
// character set.
bool cli_unicode(void);
// The width of the terminal on stdout in columns; else COLUMNS; else 80.
uint32_t cli_width(void);
// Whether lines are limited to cli_width: true on a terminal and if COLUMNS is
// set, false for a file.
bool cli_has_width(void);
// Returns the lines of the terminal: of stdout, else LINES, else 24.
uint32_t cli_height(void);
// Whether the width is less than the 80 columns for which texts are written.
bool cli_is_narrow(void);
// From now on wraps lines of stdout that are wider than a narrow terminal,
// except commands that the user may copy. For text output only.
void cli_fold(void);

/*
    A progress line on stderr for long work: only on a terminal, after 500 ms
    at the earliest, updated at most ten times a second. Start with { 0 }.
*/
typedef struct cli_progress {
    const char *what;           // "exporting"
    uint64_t start_ns, last_ns; // private
    bool shown;                 // private
} cli_progress;

// Shows the progress of a task: in a tool as a line, in a call of the library
// by its observer.
void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total);
// Ends the task; the line is erased.
void cli_progress_end(cli_progress *progress);
// Draws the progress line even in a call of the library; the observer of the
// tools calls it.
void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t total);
// Erases the progress line, if one is shown.
void cli_progress_erase(cli_progress *progress);

/* ==== 5. Traces ========================================================== */

typedef struct cli_trace {
    ts_reader *reader;
    const ts_info *info; // stays valid over a refresh
    void *bytes;         // contents of stdin; else NULL
    const char *path;    // as it was opened; not copied
} cli_trace;

// Which warnings cli_trace_open prints to stderr.
typedef enum cli_warn {
    CLI_WARN_ALL = 0, // those of cli_trace_warn
    CLI_WARN_NONE = 1 // none: the tool shows them itself
} cli_warn;

/*
    Opens a trace ("-": stdin, read to its end). False, with the reason on
    stderr, if it cannot be read. desc: reader options without a path; NULL for
    the defaults.
*/
bool cli_trace_open(cli_trace *trace, const cli_tool *tool, const char *path,
                    const ts_reader_desc *desc, cli_warn warn);
// Warns of salvaged records, damage and losses.
void cli_trace_warn(const cli_trace *trace, const cli_tool *tool,
                    const char *path);
// Reports the damaged parts from entry `from` of the reader's list on. Returns
// the number of entries of the list.
size_t cli_trace_damage(const cli_trace *trace, const cli_tool *tool,
                        const char *path, size_t from);
// Closes a trace.
void cli_trace_close(cli_trace *trace);
// Hook called after a trace was opened (NULL: none): tools/common/select
// narrows the trace to the selection. It returns false, with the reason on
// stderr, if the selected part does not exist.
extern bool (*cli_trace_opened)(cli_trace *trace, const cli_tool *tool);
// Hook called before a reader is closed (NULL: none), for code that caches data
// of readers.
extern void (*_Atomic cli_trace_closing)(const ts_reader *reader);
// Whether this user recorded exactly these bytes. ts-record lists the digests
// of traces that contain code in a private folder of the user: see
// docs/security.md. Reads the whole file.
bool cli_trace_is_own(const ts_reader *reader);
// Adds to that list a trace that this user recorded, or that was made only of
// such traces.
void cli_trace_own(const char *path);

// A BLAKE2b hash. Source: RFC 7693.
enum { CLI_DIGEST_BYTES = 32 };
typedef struct cli_digest {
    uint64_t state[8], size; // size: bytes hashed into `state` so far
    uint8_t block[128];
    size_t held; // bytes of the block
} cli_digest;
// Begins a hash.
void cli_digest_begin(cli_digest *d);
// Adds bytes to it.
void cli_digest_add(cli_digest *d, const void *bytes, size_t size);
// Ends it and gets the hash.
void cli_digest_end(cli_digest *d, uint8_t digest[CLI_DIGEST_BYTES]);

// Checks that the window from --from to --to (NULL: not given) overlaps the
// trace. False, with the reason on stderr, if it does not.
bool cli_window_check(const cli_trace *trace, const cli_tool *tool,
                      const int64_t *from_ns, const int64_t *to_ns);
// Reads the window of a trace that was cut out of another one. Operations at
// its borders are kept whole, so sums and shares have to be clipped to the
// window. False if the trace was not cut.
bool cli_clip(const ts_reader *reader, int64_t *from_ns, int64_t *to_ns);

// The number of lost records by cause: "ring_full 1,234, disk_full 5". `but` is
// a cause to leave out (-1: none).
typedef struct cli_causes {
    char s[512];
} cli_causes;
// Sums the losses of all tracks by cause. Stalls lose nothing and are not
// listed; a list that is too long ends early.
cli_causes cli_loss_causes(const ts_reader *reader, int but);
// The number of events of the kinds that this version knows.
uint64_t cli_event_count(const ts_info *info);

// Whether two paths ("-": stdin) name the same existing file.
bool cli_same_file(const char *a, const char *b);
// Checks that traces are of different files and sessions; otherwise their
// events would count twice. False, with the reason on stderr. The traces are
// `stride` bytes apart: members of the elements of an array.
bool cli_traces_distinct(const cli_tool *tool, const cli_trace *first,
                         size_t count, size_t stride);
// The same for two traces.
bool cli_trace_distinct(const cli_tool *tool, const cli_trace *a,
                        const cli_trace *b);
// Checks that a trace can be written to a path. False, with the reason on
// stderr, if the path is one of `count` inputs, or not a regular file.
bool cli_output_check(const cli_tool *tool, const char *path,
                      const char *const *inputs, size_t count);
// False, with the reason on stderr, if the path exists and is a folder, a
// device or a pipe.
bool cli_regular_check(const cli_tool *tool, const char *path);
// Opens an input without ever blocking for a writer: a file or an unnamed pipe,
// such as a shell's <(...). Returns the descriptor; -1 and *why on failure.
int cli_open_input(const char *path, const char **why);
// Like cli_open_input for a path read from an untrusted file: opens regular
// files only; -1 otherwise.
int cli_open_plain(const char *path);
// False, with the reason on stderr, if more than one input is stdin.
bool cli_inputs_check(const cli_tool *tool, const char *const *inputs,
                      size_t count);

// The type of a file, detected by its contents.
typedef enum cli_kind {
    CLI_ANY, // none of these; as an output, it may replace any file
    CLI_TRACE,
    CLI_DATABASE,
    CLI_GZIP,
    CLI_HTML,
    CLI_SVG,
    CLI_JUNIT,
    CLI_CHROME,     // JSON of ts-export, not that of other programs
    CLI_KINETO,     // likewise
    CLI_SPEEDSCOPE, // likewise
    CLI_PPROF,      // of ts-export
    CLI_CHAKRA,     // of ts-export
    CLI_JSON,
    CLI_DOT,
    CLI_PERFETTO,
    CLI_MARKDOWN,
    CLI_FOLDED,
    CLI_PARQUET
} cli_kind;

// Whether an output of this kind may be written to a path: nothing is there, or
// an empty file, a file of the same kind, a pipe or a device. Otherwise false,
// with the reason on stderr.
bool cli_replace_check(const cli_tool *tool, const char *path, cli_kind kind);
// Like cli_replace_check for a tool that joins several traces: if the user
// forgot the name of the output, an input would be taken for it. So only a
// trace with the metadata `key`, which the tool itself writes, is replaced.
bool cli_joined_check(const cli_tool *tool, const char *path, const char *key);

// An option that names an output; `path` is "-" for stdout, NULL if not given.
typedef struct cli_output {
    const char *option, *path;
    cli_kind kind;
} cli_output;

// Checks the outputs of a tool; call it before reading anything. False, with
// the reason on stderr, if two outputs have the same path, or if one would
// replace an input or a file of another kind.
bool cli_outputs_check(const cli_tool *tool, const cli_output *outputs,
                       size_t count, const char *const *inputs,
                       size_t input_count);

/*
    An output that is written to a temporary file and renamed when it is
    complete, so that a failure leaves an existing file unchanged. "-" is
    stdout; pipes and devices are written directly. Both functions print the
    reason of a failure to stderr.
*/
typedef struct cli_out {
    FILE *stream;
    char *temporary;      // temporary path; NULL: written directly
    char *target;         // private
    const cli_tool *tool; // private
    const char *path;     // private
} cli_out;

// Opens an output. False if it cannot be written.
bool cli_out_open(cli_out *out, const cli_tool *tool, const char *path);
// Closes and renames the file; true on success. Without `keep`, removes it and
// returns false.
bool cli_out_close(cli_out *out, bool keep);

// Compares gaps for qsort: the longest first.
int cli_gap_order(const ts_gap *a, size_t a_device, const ts_gap *b,
                  size_t b_device);

// "thread", "stream", ...; "track" for a type of a later version.
const char *cli_track_type(ts_track_type type);
// The name of a track; if it has none, its type and number, formatted in *made.
ts_text cli_track_name(const ts_track *track, cli_text *made);

// Nanoseconds of a clock that nobody sets.
uint64_t cli_now_ns(void);
// How many processors this process may use, at least one.
uint32_t cli_processors(void);
// How many threads write a trace where there are so many processors. More than
// four would wait: for the one that reads the rows and appends the chunks.
uint32_t cli_writers(uint32_t processors);
// Makes the path of a file in the folder of this program. False: the program's
// own path is not known, or the new one is too long.
bool cli_beside(char *path, size_t size, const char *name);
// Removes a folder with all that is in it, as far as that is allowed. Links in
// it are not followed.
void cli_remove_folder(const char *path);

/* ==== 6. Other programs ================================================== */

// Finds the path of a program as execvp does; of one that cannot be executed if
// there is no other. False if it is not found.
bool cli_program_find(const char *name, char *path, size_t room);
// Runs a program without input to its end; what it prints goes to the file
// descriptor `output`. Returns its exit status, 128 + N if signal N ended it;
// -1 with errno if it cannot be run.
int cli_program_run(const char *const *argv, int output);
// Ends the program that a tool runs so, after a second by SIGKILL, and waits
// for it; for signal handlers.
void cli_program_interrupted(void);

#endif // TS_TOOLS_CLI_CLI_H
