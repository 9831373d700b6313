/*
    options.c - options, messages, exit codes
*/
#include "tools/cli/context.h"

int cli_usage(const cli_tool *tool)
{
    fprintf(stderr, "Usage: %s %s\nTry '%s --help'.\n", tool->name, tool->usage,
            tool->name);
    return CLI_USAGE;
}

int cli_finish(const cli_tool *tool, int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    cli_error(tool, NULL, "cannot write the output: %s", strerror(errno));
    return CLI_FAILED;
}

/* ---- Values ------------------------------------------------------------- */

bool cli_parse_time(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        { "ns", 1 },
        { "us", 1000 },
        { "\u00b5s", 1000 },
        { "\u03bcs", 1000 },
        { "ms", 1000000 },
        { "s", 1000000000 },
        { "min", INT64_C(60000000000) },
        { "h", INT64_C(3600000000000) },
    };
    const bool negative = *text == '-';
    const char *const digits = text + (negative || *text == '+');
    const size_t whole = strspn(digits, "0123456789");
    size_t size = whole;
    if (digits[size] == '.')
        size += 1 + strspn(digits + size + 1, "0123456789");
    if (!whole || whole > 18) return false;
    const char *const unit = digits + size;

    // Only zero needs no unit: without one a number would be ambiguous.
    int64_t scale = !*unit && strspn(digits, "0.") == size ? 1 : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name)) scale = units[i].ns;
    const int64_t value = strtoll(digits, NULL, 10);
    if (!scale || value > INT64_MAX / scale - 1) return false;

    // value + 0.d1 d2 ... in whole nanoseconds; further digits are dropped.
    int64_t sum = value * scale;
    // Hours are limited to six decimals, so that nothing overflows.
    const uint64_t most = scale > 1000000000 ? 1000000 : 1000000000;
    uint64_t rest = 0, tens = 1;
    for (const char *at = digits + whole + 1; at < unit && tens < most; at++)
        rest = rest * 10 + (uint64_t)(*at - '0'), tens *= 10;
    sum += (int64_t)(rest * (uint64_t)scale / tens);
    *ns = negative ? -sum : sum;
    return true;
}

bool cli_parse_bytes(const char *text, uint64_t *size)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        { "", 1 },
        { "B", 1 },
        { "kB", 1000 },
        { "MB", 1000000 },
        { "GB", 1000000000 },
        { "TB", UINT64_C(1000000000000) },
        { "KiB", 1 << 10 },
        { "MiB", 1 << 20 },
        { "GiB", 1 << 30 },
        { "TiB", UINT64_C(1) << 40 },
        { "K", 1 << 10 }, // as in budgets of captures
        { "M", 1 << 20 },
        { "G", 1 << 30 },
        { "T", UINT64_C(1) << 40 },
    };
    const size_t whole = strspn(text, "0123456789");
    if (!whole || whole > 15) return false;
    uint64_t value = strtoull(text, NULL, 10), scale = 1, bytes = 0;
    const char *unit = text + whole;
    if (*unit == '.')
        while (*++unit >= '0' && *unit <= '9')
            if (scale < 1000) {
                value = value * 10 + (uint64_t)(*unit - '0');
                scale *= 10;
            }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name)) bytes = units[i].bytes;
    if (!bytes || value > (uint64_t)INT64_MAX / bytes) return false;
    *size = value * bytes / scale;
    return true;
}

bool cli_matches(const char *pattern, size_t pattern_size, const char *text,
                 size_t size)
{
    size_t p = 0, t = 0, star = SIZE_MAX, retry = 0;
    while (t < size) {
        if (p < pattern_size && pattern[p] == '*') {
            star = p++;
            retry = t;
        } else if (p < pattern_size && pattern[p] == text[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern_size && pattern[p] == '*')
        p++;
    return p == pattern_size;
}

bool cli_list_has(const char *list, const char *name, size_t size)
{
    for (;;) {
        const size_t part = strcspn(list, ",");
        if (cli_matches(list, part, name, size)) return true;
        if (!list[part]) return false;
        list += part + 1;
    }
}

/* ---- Parsing ------------------------------------------------------------ */

static bool takes_value(const cli_option *o)
{
    return o->text || o->number || o->time_ns || o->list;
}

// Whether the value is optional, as in "--stacks[=DEPTH]": then the next word
// is not its value.
static bool may_have_none(const cli_option *o)
{
    return strstr(o->name, "[=") != NULL;
}

static bool set_value(const cli_option *o, const char *value)
{
    if (o->flag) *o->flag = true;
    if (o->text) *o->text = value;
    if (o->list) {
        if (o->list->count == CLI_LIST_MOST) return false;
        o->list->items[o->list->count++] = value;
    }
    if (o->time_ns && !cli_parse_time(value, o->time_ns)) return false;
    if (!o->number) return true;
    char *end;
    errno = 0;
    *o->number = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno;
}

// Whether a word is one of the names in "-o, --output FILE".
static bool has_name(const cli_option *o, const char *word, size_t size)
{
    const char *name = o->name;
    for (;;) {
        const size_t n = strcspn(name, ", [");
        if (n == size && !memcmp(name, word, n)) return true;
        if (name[n] != ',') return false;
        name += n + 2;
    }
}

// value: receives the value in the same word ("--from=1s", "-oX"), or NULL.
static const cli_option *find(const cli_tool *tool, const char *word,
                              const char **value)
{
    const bool is_long = word[1] == '-';
    const size_t size = is_long ? strcspn(word, "=") : 2;
    *value = word[size] ? word + size + is_long : NULL;
    for (const cli_option *o = tool->options; o->name; o++)
        if (has_name(o, word, size)) return o;
    return NULL;
}

// Rewraps a text that was broken for 80 columns.
static void put_prose(const char *text)
{
    for (; *text; text++) {
        const bool joined = *text == '\n' && text[1] > ' ' && cli_is_narrow();
        putchar(joined ? ' ' : *text);
    }
}

// Prints "  --name VALUE   help", the help's further lines below its first.
static void help_line(const char *name, const char *help)
{
    if (cli_is_narrow()) {
        printf("  %s\n      ", name);
        put_prose(help);
        putchar('\n');
        return;
    }
    if (strlen(name) > 20)
        printf("  %s\n%23s", name, "");
    else
        printf("  %-20s ", name);
    for (; *help; help++) {
        putchar(*help);
        if (*help == '\n') printf("%23s", "");
    }
    putchar('\n');
}

static void help(const cli_tool *tool)
{
    cli_fold();
    printf("Usage: %s %s\n", tool->name, tool->usage);
    put_prose(tool->about);
    puts("\n");
    for (const cli_option *o = tool->options; o->name; o++)
        help_line(o->name, o->help);
    help_line("-h, --help", "print this help and exit");
    help_line("-V, --version", "print the version and exit");
}

static void version(const cli_tool *tool)
{
    printf("%s %d.%d.%d\n", tool->name, TS_VERSION_MAJOR, TS_VERSION_MINOR,
           TS_VERSION_PATCH);
}

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static bool is_version(const char *word)
{
    return !strcmp(word, "--version") || !strcmp(word, "-V");
}

// Message of the last error, valid until the next call.
static char wrong[256];

static const char *no_such_option(const cli_tool *tool, const char *word)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    cli_near near = { .word = typed };
    for (const cli_option *o = tool->options; o->name; o++) {
        const char *const name = strstr(o->name, "--");
        if (name) cli_near_try(&near, name, strcspn(name, ", =["));
    }
    cli_near_try(&near, "--help", 6);
    cli_near_try(&near, "--version", 9);
    if (!near.name) return "unknown option";
    snprintf(wrong, sizeof wrong, "unknown option; did you mean %.*s?",
             (int)near.size, near.name);
    return wrong;
}

// Whether a word is an option, not a value: in "--html --json" the first value
// is missing.
static bool is_option(const cli_tool *tool, const char *word)
{
    const char *value;
    return word[0] == '-' && word[1] &&
           (find(tool, word, &value) || is_help(word) || is_version(word)) &&
           (word[1] == '-' || !word[2]);
}

// Parses the option at argv[*i]. Returns NULL or an error message.
static const char *take(const cli_tool *tool, char **argv, int argc, int *i)
{
    const char *value;
    const cli_option *const o = find(tool, argv[*i], &value);
    if (!o) return no_such_option(tool, argv[*i]);
    if (!takes_value(o) || (!value && may_have_none(o))) {
        if (value) return "does not take a value";
        if (o->flag) *o->flag = true;
        return NULL;
    }
    if (!value && *i + 1 < argc) {
        value = argv[++*i];
        if (is_option(tool, value)) {
            snprintf(wrong, sizeof wrong,
                     "needs a value, but is followed by %.60s", value);
            return wrong;
        }
    }
    if (!value) return "needs a value";
    if (set_value(o, value)) return NULL;
    if (o->list) return "is given more than 64 times";
    snprintf(wrong, sizeof wrong, "'%.60s' is not a %s", value,
             o->number ? "whole number" : "time with a unit, such as 1.5ms");
    return wrong;
}

void cli_parse(const cli_tool *tool, int *argc, char **argv)
{
    cli_is_tool = true;
    int kept = 1, i = 1;
    for (; i < *argc && strcmp(argv[i], "--"); i++) {
        const char *const word = argv[i];
        if (word[0] != '-' || !word[1]) {
            if (tool->command) break;
            argv[kept++] = argv[i];
            continue;
        }
        void (*const print)(const cli_tool *) = is_help(word)      ? help
                                                : is_version(word) ? version
                                                                   : NULL;
        if (print) {
            print(tool);
            exit(cli_finish(tool, CLI_OK));
        }
        const char *const why = take(tool, argv, *argc, &i);
        if (!why) continue;
        cli_error(tool, NULL, "%s: %s", word, why);
        exit(cli_usage(tool));
    }
    for (i += i < *argc && !strcmp(argv[i], "--"); i < *argc; i++)
        argv[kept++] = argv[i];
    *argc = kept;
    argv[kept] = NULL;
}
