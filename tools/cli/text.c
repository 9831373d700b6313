/*
    text.c - numbers, times, text and JSON
*/
#include "tools/cli/cli.h"
#include <math.h>
#include <stdarg.h>
#include <time.h>

cli_text cli_format(const char *format, ...)
{
    cli_text text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.s, sizeof text.s, format, args);
    va_end(args);
    return text;
}

cli_text cli_count(uint64_t count)
{
    char digits[24];
    const int size = snprintf(digits, sizeof digits, "%" PRIu64, count);
    cli_text text;
    char *to = text.s;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return text;
}

cli_text cli_counted(uint64_t count, const char *one, const char *more)
{
    return cli_format("%s %s", cli_count(count).s, count == 1 ? one : more);
}

// Three significant digits, four from 100 on; exact in the first unit.
static cli_text scaled(double value, const char *const *units, double step)
{
    const double sign = value < 0 ? -1 : 1;
    size_t unit = 0;
    for (value *= sign; value >= step - 0.05 && units[unit + 1]; unit++)
        value /= step;
    const int digits = !unit             ? 0
                       : value >= 99.995 ? 1
                       : value >= 9.9995 ? 2
                                         : 3;
    return cli_format("%.*f %s", digits, sign * value, units[unit]);
}

cli_text cli_bytes(uint64_t size)
{
    static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
                                         "TiB", "PiB", NULL };
    return scaled((double)size, units, 1024);
}

cli_text cli_time(int64_t ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s", NULL };
    return scaled((double)ns, units, 1000);
}

cli_text cli_short_time(int64_t ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s", "ks", "Ms" };
    double value = (double)ns;
    size_t unit = 0;
    for (; value >= (unit ? 999.5 : 1000) && unit < 5; unit++)
        value /= 1000;
    const int digits = !unit || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return cli_format("%.*f %s", digits, value, units[unit]);
}

cli_text cli_moment(int64_t ns, int digits)
{
    const uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t part = size % 1000000000;
    for (int i = digits; i < 9; i++)
        part /= 10;
    return cli_format("%s%" PRIu64 ".%0*" PRIu64 " s", ns < 0 ? "-" : "",
                      size / 1000000000, digits, part);
}

cli_text cli_real(double value)
{
    return cli_format("%.6g", value);
}

cli_text cli_percent(double share)
{
    const cli_text change = cli_change(share, 1);
    return cli_format("%s", change.s + (*change.s == '+'));
}

cli_text cli_change(double share, int digits)
{
    const cli_text text = cli_format("%+.*f %%", digits, share * 100);
    const bool none = text.s[1 + strspn(text.s + 1, "0.")] == ' ';
    return cli_format("%s", text.s + none);
}

cli_text cli_date(uint64_t realtime_ns)
{
    const time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm tm;
    cli_text text = { "" };
    if (!gmtime_r(&seconds, &tm)) return text;
    const size_t size =
        strftime(text.s, sizeof text.s, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text.s + size, sizeof text.s - size, ".%09u UTC",
             (unsigned)(realtime_ns % 1000000000));
    return text;
}

/* ---- UTF-8 -------------------------------------------------------------- */

size_t cli_utf8(const char *text, size_t size, uint32_t *code)
{
    // Source: RFC 3629, section 4: no surrogates, no overlong forms.
    const unsigned char *const s = (const unsigned char *)text;
    *code = 0xFFFD;
    if (!size) return 0;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    const size_t more = s[0] >= 0xF0 ? 3 : s[0] >= 0xE0 ? 2 : 1;
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    if (s[0] < 0xC2 || s[0] > 0xF4 || more >= size) return 1;
    uint32_t c = s[0] & (0x3Fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) return 1;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[more] || c > 0x10FFFF || c >> 11 == 0x1B) return 1;
    *code = c;
    return more + 1;
}

// C0, DEL and C1 are control characters of terminals.
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// Source: Unicode Standard Annex 9, table 4 (Bidi_Control); U+2028 and U+2029
// break lines.
bool cli_is_control(uint32_t code)
{
    return is_control(code) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

void cli_put_text(FILE *out, const char *text, size_t size)
{
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0;
         text += n, size -= n) {
        if (cli_is_control(code) || (code == 0xFFFD && n == 1))
            fputs(cli_unicode() ? "\uFFFD" : "?", out);
        else
            fwrite(text, 1, n, out);
    }
}

void cli_put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:,@%+=-";
    const bool quote = !*word || word[strspn(word, plain)];
    if (quote) putc('\'', out);
    while (*word) {
        const size_t size = strcspn(word, "'");
        cli_put_text(out, word, size);
        word += size;
        if (*word) fputs("'\\''", out);
        word += *word != 0;
    }
    if (quote) putc('\'', out);
}

void cli_put_path(FILE *out, const char *path)
{
    if (!strcmp(path, "-")) path = "standard input";
    cli_put_text(out, path, strlen(path));
}

/* ---- JSON --------------------------------------------------------------- */

static void json_string(FILE *out, const char *text, size_t size)
{
    uint32_t code;
    fputc('"', out);
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0;
         text += n, size -= n) {
        if (code == '"' || code == '\\')
            fprintf(out, "\\%c", (char)code);
        else if (code == '\n')
            fputs("\\n", out);
        else if (code == '\t')
            fputs("\\t", out);
        else if (cli_is_control(code))
            fprintf(out, "\\u%04x", (unsigned)code);
        else if (code == 0xFFFD)
            fputs("\uFFFD", out);
        else
            fwrite(text, 1, n, out);
    }
    fputc('"', out);
}

// The comma, line break and key before a value.
static void json_lead(cli_json *json, const char *key)
{
    if (json->filled) fputc(',', json->out);
    if (json->depth && json->depth <= json->lines)
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    else if (json->filled)
        fputc(' ', json->out);
    json->filled = true;
    if (!key) return;
    json_string(json->out, key, strlen(key));
    fputs(": ", json->out);
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    json_lead(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->filled = false;
}

void cli_json_close(cli_json *json, char bracket)
{
    json->depth--;
    if (json->filled && json->depth < json->lines)
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    fputc(bracket, json->out);
    json->filled = true;
    if (!json->depth) fputc('\n', json->out);
}

void cli_json_int(cli_json *json, const char *key, int64_t value)
{
    json_lead(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void cli_json_uint(cli_json *json, const char *key, uint64_t value)
{
    json_lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void cli_json_real(cli_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        cli_json_null(json, key);
        return;
    }
    // The fewest digits that parse to the same number.
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    json_lead(json, key);
    fputs(text, json->out);
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    json_lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json, const char *key)
{
    json_lead(json, key);
    fputs("null", json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *text,
                   size_t size)
{
    json_lead(json, key);
    json_string(json->out, text, size);
}

void cli_json_raw(cli_json *json, const char *key, const char *text,
                  size_t size)
{
    json_lead(json, key);
    fwrite(text, 1, size, json->out);
}

void cli_json_string(cli_json *json, const char *key, const char *text)
{
    cli_json_text(json, key, text, strlen(text));
}

void cli_json_file(cli_json *json, const char *path, const int64_t *rank,
                   const ts_replay_file *file)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "file", path);
    if (rank)
        cli_json_int(json, "rank", *rank);
    else
        cli_json_null(json, "rank");
    cli_json_int(json, "offset_ns", file->offset_ns);
    cli_json_uint(json, "matched_collectives", file->matched);
    cli_json_int(json, "residual_ns", file->residual_ns);
    cli_json_close(json, '}');
}
