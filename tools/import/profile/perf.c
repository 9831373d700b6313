/*
    perf.c - the text that perf script prints

    A sample is a line that names the thread, and the lines of its stack, the
    innermost function first, up to an empty line:

        COMMAND PROCESS/THREAD [CPU] MODE SECONDS: PERIOD EVENT:
            ADDRESS FUNCTION+OFFSET (FILE)

    PROCESS/, [CPU], MODE, SECONDS: and PERIOD may be missing. Without a period
    the weight is 1, without SECONDS the time is 0. The clocks of the kernel
    count ns, other events have no unit. A program recorded without call stacks
    has its only function behind EVENT:, where tracepoints have arguments.

    Source: builtin-script.c of Linux, and files that perf wrote.
*/
#include "tools/import/profile/profile.h"

typedef struct head { // of a sample; texts are parts of its line
    ts_text command, event;
    ts_text rest; // behind the event
    int64_t process, thread, time_ns;
    profile_weight weight;
    bool has_time;
} head;

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static ts_text next_word(ts_text *rest)
{
    ts_text word = *rest;
    while (word.size && is_space(*word.text))
        word.text++, word.size--;
    size_t size = 0;
    while (size < word.size && !is_space(word.text[size]))
        size++;
    *rest = (ts_text){ word.text + size, word.size - size };
    word.size = size;
    return word;
}

static bool read_number(ts_text text, int64_t *number)
{
    if (!text.size || text.size > 18) return false;
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.text[i] < '0' || text.text[i] > '9') return false;
        *number = *number * 10 + (text.text[i] - '0');
    }
    return true;
}

// Reads "12", a thread, or "11/12", a process and a thread.
static bool read_thread(ts_text word, head *h)
{
    const char *const slash = memchr(word.text, '/', word.size);
    h->process = IMPORT_NONE;
    if (!slash) return read_number(word, &h->thread);
    const size_t first = (size_t)(slash - word.text);
    const ts_text process = { word.text, first };
    const ts_text thread = { slash + 1, word.size - first - 1 };
    return read_number(process, &h->process) && read_number(thread, &h->thread);
}

// Reads "75695.008865:"; more than nine decimals are none of perf's. With the
// clock of the calendar, the seconds have ten digits.
static bool read_time(ts_text word, int64_t *time_ns)
{
    const char *const point = memchr(word.text, '.', word.size);
    if (!point || word.text[word.size - 1] != ':') return false;
    const size_t whole = (size_t)(point - word.text);
    size_t digits = word.size - whole - 2;
    int64_t seconds, part;
    const ts_text first = { word.text, whole }, second = { point + 1, digits };
    if (digits > 9 || !read_number(first, &seconds) ||
        seconds >= INT64_MAX / 1000000000 || !read_number(second, &part))
        return false;
    for (; digits < 9; digits++)
        part *= 10;
    *time_ns = seconds * 1000000000 + part;
    return true;
}

static bool is_cpu(ts_text word)
{
    int64_t cpu;
    const ts_text number = { word.text + 1, word.size - 2 };
    return word.size > 2 && *word.text == '[' &&
           word.text[word.size - 1] == ']' && read_number(number, &cpu);
}

// The mode of the processor, "U" or "K" and others.
static bool is_mode(ts_text word)
{
    for (size_t i = 0; i < word.size; i++)
        if (!memchr("KUHGgMESp", word.text[i], 9)) return false;
    return word.size && word.size <= 4;
}

typedef struct place { // a function and its file, as a line names them
    ts_text function, file;
} place;

// Cuts "+0x1f" off a function.
static ts_text without_offset(ts_text name)
{
    size_t at = name.size;
    while (at && memchr("0123456789abcdef", name.text[at - 1], 16))
        at--;
    if (at >= 3 && at < name.size && !memcmp(name.text + at - 3, "+0x", 3))
        name.size = at - 3;
    return name;
}

// Returns where "(FILE)" begins at the end of a line, which may have blanks and
// parentheses on both sides; its size: there is none.
static size_t file_of(ts_text line)
{
    int open = 0;
    if (!line.size || line.text[line.size - 1] != ')') return line.size;
    for (size_t at = line.size; at-- > 0;) {
        open += (line.text[at] == ')') - (line.text[at] == '(');
        if (line.text[at] == '(' && open <= 0 &&
            (!at || is_space(line.text[at - 1])))
            return at;
    }
    return line.size;
}

// Reads "  ADDRESS FUNCTION (FILE)".
static bool read_place(ts_text line, place *p)
{
    const ts_text first = next_word(&line);
    for (size_t i = 0; i < first.size; i++)
        if (!memchr("0123456789abcdef", first.text[i], 16)) return false;
    if (!first.size || first.size > 16) return false;
    while (line.size && is_space(*line.text))
        line.text++, line.size--;
    const size_t at = file_of(line);
    p->file = (ts_text){ "", 0 };
    if (at < line.size)
        p->file = (ts_text){ line.text + at + 1, line.size - at - 2 };
    line.size = at && at < line.size ? at - 1 : at;
    p->function = without_offset(line);
    return true;
}

// Reads what follows the thread: [CPU] MODE SECONDS: PERIOD EVENT: ...
static bool read_rest(ts_text rest, head *h)
{
    ts_text word = next_word(&rest);
    int64_t period;
    h->time_ns = 0;
    if (is_cpu(word)) word = next_word(&rest);
    if (is_mode(word)) word = next_word(&rest);
    h->has_time = word.size && read_time(word, &h->time_ns);
    if (h->has_time) word = next_word(&rest);
    h->weight = (profile_weight){ .type = TS_VALUE_INT, .value = 1 };
    if (read_number(word, &period)) {
        h->weight.value = (uint64_t)period;
        word = next_word(&rest);
    }
    if (word.size < 2 || word.text[word.size - 1] != ':') return false;
    h->event = (ts_text){ word.text, word.size - 1 };
    while (rest.size && is_space(*rest.text))
        rest.text++, rest.size--;
    h->rest = rest;
    // Without a time too much text looks like that: only a place may follow.
    place p;
    return h->has_time || !rest.size || (read_place(rest, &p) && p.file.size);
}

// What only follows a thread.
static bool is_behind(ts_text word)
{
    int64_t time_ns;
    return is_cpu(word) || read_time(word, &time_ns);
}

// The command may have blanks and digits: the thread is the first word after
// its first one from which the line reads on.
static bool read_head(ts_text line, head *h)
{
    ts_text rest = line;
    const char *const begin = next_word(&rest).text;
    if (line.size && is_space(*line.text)) return false;
    const char *end = rest.text;
    while (rest.size) {
        const ts_text word = next_word(&rest);
        if (is_behind(word)) return false;
        if (read_thread(word, h) && read_rest(rest, h)) {
            h->command = (ts_text){ begin, (size_t)(end - begin) };
            return true;
        }
        end = rest.text;
    }
    return false;
}

// The first line that is no remark begins a sample.
static bool recognise(import_source *source)
{
    size_t size;
    const char *line = (const char *)import_source_head(source, &size);
    const char *const end = line + size;
    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        head h;
        ts_text text = { line, (size_t)(next - line) };
        if (text.size && line[text.size - 1] == '\r') text.size--;
        if (text.size && *line != '#') return read_head(text, &h);
        line = next + 1;
    }
    return false;
}

/* ---- Samples ------------------------------------------------------------- */

static bool is_clock(ts_text event)
{
    static const char *const clocks[] = { "cpu-clock", "task-clock" };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        const size_t size = strlen(clocks[i]);
        if (event.size >= size && !memcmp(event.text, clocks[i], size) &&
            (event.size == size || event.text[size] == ':'))
            return true;
    }
    return false;
}

// A sample in progress: its line is read, those of its stack follow.
typedef struct sample {
    bool open;
    uint32_t thread;
    int64_t time_ns;
    profile_weight weight;
} sample;

static void begin_sample(profile *p, sample *s, const head *h)
{
    *s = (sample){ .open = true, .time_ns = h->time_ns, .weight = h->weight };
    s->thread = import_thread(p->job, h->process, h->thread);
    import_track_name(p->job, s->thread, h->command.text, h->command.size);
    s->weight.name = import_name(p->job, h->event.text, h->event.size);
    // Without a period the weight is a number of samples.
    if (is_clock(h->event) && h->weight.value > 1)
        s->weight.unit = import_name(p->job, "ns", 2);
    if (!h->has_time) import_flaw(p->job, "no_time");
    p->job->rows++;
}

static void end_sample(profile *p, sample *s)
{
    const uint32_t stack = profile_stack(p, false);
    if (s->open) profile_sample(p, s->thread, s->time_ns, &s->weight, stack);
    s->open = false;
}

static void push_place(profile *p, const place *at)
{
    static const ts_text inlined = { "inlined", 7 };
    const ts_text file = at->file;
    const bool is_file = file.size && !(file.size == inlined.size &&
                                        !memcmp(file.text, inlined.text, 7));
    const profile_function function = {
        .name = profile_name(p, at->function.text, at->function.size),
        .module = is_file ? import_name(p->job, file.text, file.size) : 0
    };
    const ts_frame_entry frame = profile_frame(p, &function);
    profile_push(p, &frame);
}

static void take_head(profile *p, sample *s, const head *h)
{
    place only;
    end_sample(p, s);
    begin_sample(p, s, h);
    if (read_place(h->rest, &only))
        push_place(p, &only);
    else if (h->rest.size)
        import_flaw(p->job, "text_behind_event");
}

static void take_line(profile *p, sample *s, const profile_lines *l)
{
    const ts_text line = { l->line, l->size };
    place at;
    head h;
    if (line.size && *line.text == '#') return;
    if (!line.size)
        end_sample(p, s);
    else if (!l->cut && read_head(line, &h))
        take_head(p, s, &h);
    else if (!l->cut && s->open && read_place(line, &at))
        push_place(p, &at);
    else
        import_bad(p->job, l->cut ? "long_line" : "broken_row", IMPORT_NONE);
}

static bool import(import_job *job)
{
    profile p = profile_open(job);
    profile_lines l;
    sample s = { 0 };
    if (!profile_lines_open(&l, job->source)) p.no_memory = true;
    while (!p.no_memory && profile_lines_next(&l)) {
        take_line(&p, &s, &l);
        import_progress(job);
    }
    end_sample(&p, &s);
    profile_lines_close(&l);
    return profile_close(&p);
}

const import_format import_perf = {
    .name = "perf",
    .title = "text of perf script",
    .recognise = recognise,
    .import = import,
};
