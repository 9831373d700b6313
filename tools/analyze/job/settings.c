/*
    settings.c - thresholds that --set changes
*/
#include "tools/analyze/job/private.h"

// Enumerates all settings in the order of the topics.
static const analyze_setting *setting_at(size_t index)
{
    for (const analyze_topic *const *q = analyze_topics; *q; q++)
        for (const analyze_setting *s = (*q)->settings; s && s->key; s++)
            if (!index--) return s;
    return NULL;
}

static size_t find(const char *key, size_t size)
{
    size_t index = 0;
    for (const analyze_topic *const *q = analyze_topics; *q; q++)
        for (const analyze_setting *s = (*q)->settings; s && s->key; s++) {
            if (strlen(s->key) == size && !memcmp(s->key, key, size))
                return index;
            index++;
        }
    return SIZE_MAX;
}

int64_t analyze_set(const analyze_job *job, const char *key)
{
    const size_t at = find(key, strlen(key));
    return at == SIZE_MAX ? 0 : job->private->settings[at];
}

// Parses digits with up to two decimals, in hundredths.
static bool parse_hundredths(const char *text, const char **end, int64_t *value)
{
    const size_t whole = strspn(text, "0123456789");
    if (!whole || whole > 12) return false;
    int64_t sum = strtoll(text, NULL, 10) * 100;
    text += whole;
    if (*text == '.')
        for (int64_t scale = 10; *++text >= '0' && *text <= '9'; scale /= 10)
            sum += (*text - '0') * scale;
    *end = text;
    *value = sum;
    return true;
}

static bool parse_bytes(const char *text, int64_t *value)
{
    uint64_t size;
    if (!cli_parse_bytes(text, &size)) return false;
    *value = (int64_t)size; // at most INT64_MAX
    return true;
}

// Bytes in a second.
static bool parse_rate(char *text, size_t size, int64_t *value)
{
    if (size < 3 || strcmp(text + size - 3, "B/s")) return false;
    text[size - 2] = 0;
    return parse_bytes(text, value) && *value > 0;
}

// Parses a value as reports print it, "1.500 ms" or "50.0 %"; the space may be
// omitted.
static bool parse_value(const char *given, report_unit unit, int64_t *value)
{
    const char *end;
    char text[32];
    size_t size = 0;
    for (; *given; given++) {
        if (*given == ' ' || (*given == ',' && unit == REPORT_COUNT)) continue;
        if (size + 1 == sizeof text) return false;
        text[size++] = *given;
    }
    text[size] = 0;
    if (unit == REPORT_NS) return cli_parse_time(text, value) && *value >= 0;
    if (unit == REPORT_BYTES) return parse_bytes(text, value);
    if (unit == REPORT_RATE) return parse_rate(text, size, value);
    if (!parse_hundredths(text, &end, value)) return false;
    if (unit == REPORT_SHARE) return !strcmp(end, "%");
    if (*end || *value % 100) return false;
    *value /= 100;
    return true;
}

static bool set(analyze_job *job, const char *text)
{
    const size_t size = strcspn(text, "=");
    const size_t at = find(text, size);
    if (!text[size]) {
        cli_fail(job->tool, TS_ERR_USAGE, NULL,
                 "--set %s: must be KEY=VALUE; --list and --rules show the "
                 "keys",
                 text);
        return false;
    }
    if (at == SIZE_MAX) {
        cli_fail(job->tool, TS_ERR_USAGE, NULL,
                 "--set %s: unknown key %.*s; --list and --rules show the keys",
                 text, (int)size, text);
        return false;
    }
    const analyze_setting *const s = setting_at(at);
    if (parse_value(text + size + 1, s->unit, &job->private->settings[at]))
        return true;
    cli_fail(job->tool, TS_ERR_USAGE, NULL, "--set %s: the value is not a %s",
             text,
             s->unit == REPORT_NS      ? "time such as 1.5ms"
             : s->unit == REPORT_BYTES ? "size such as 64KiB"
             : s->unit == REPORT_RATE  ? "rate such as 12GB/s"
             : s->unit == REPORT_SHARE ? "share such as 5%"
                                       : "whole number");
    return false;
}

report_value analyze_setting_value(const analyze_setting *s, int64_t value)
{
    return s->unit == REPORT_SHARE  ? report_share(value, 10000)
           : s->unit == REPORT_RATE ? report_rate((uint64_t)value, 1000000000)
                                    : report_number(s->unit, value, 0);
}

bool analyze_settings_read(analyze_job *job)
{
    size_t count = 0;
    while (setting_at(count))
        count++;
    job->private->settings = calloc(count + 1, sizeof(int64_t));
    if (!job->private->settings) return cli_out_of_memory(job->tool);
    for (size_t i = 0; i < count; i++)
        job->private->settings[i] = setting_at(i)->value;
    const cli_list *const sets = job->options.sets;
    for (size_t i = 0; sets && i < sets->count; i++)
        if (!set(job, sets->items[i])) job->wrong_usage = true;
    return !job->wrong_usage;
}
