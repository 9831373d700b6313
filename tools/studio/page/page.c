/*
    page.c - the page is studio.html, which build.sh makes; it is part of the
    program
*/
#include "tools/studio/page/page.h"

// The make file says that this depends on it.
__asm__(".section .rodata\n"
        ".global studio_html\n"
        ".hidden studio_html\n"
        "studio_html:\n"
        ".incbin \"tools/studio/page/studio.html\"\n"
        ".global studio_html_end\n"
        ".hidden studio_html_end\n"
        "studio_html_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char studio_html[], studio_html_end[];

// Where a trace goes, and what keeps the page from asking anybody.
static const char place[] = "<!--TRACE-->\n";
static const char offline[] = "connect-src 'none'";
static const char served[] = "connect-src 'self'";

static size_t page_size(void)
{
    return (size_t)(studio_html_end - studio_html);
}

static const char *find(const char *text)
{
    return strstr(studio_html, text); // it ends with a zero
}

static void put_escaped(const char *text, size_t size, FILE *out)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            putc(text[i], out);
}

static void put_json(const char *key, const char *value, FILE *out)
{
    fprintf(out, ",\"%s\":", key);
    put_escaped(value, strlen(value), out);
}

void studio_about_write(const studio_about *about, FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const memory = open_memstream(&text, &size);
    if (!memory) return;
    cli_json json = { .out = memory };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "name", about->name);
    if (about->other) cli_json_string(&json, "other", about->other);
    if (about->captures) cli_json_bool(&json, "captures", true);
    cli_json_close(&json, '}');
    fclose(memory);
    // The report and the names are JSON already.
    while (size && text[size - 1] != '}')
        size--;
    if (size) put_escaped(text, size - 1, out);
    if (size && about->report) put_json("report", about->report, out);
    if (size && about->names) put_json("names", about->names, out);
    if (size) fputs("}\n", out);
    free(text);
}

static void put_base64(const uint8_t *bytes, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const uint32_t left = size - i < 3 ? (uint32_t)(size - i) : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (left > 1) bits |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) bits |= bytes[i + 2];
        putc(digits[bits >> 18], out);
        putc(digits[bits >> 12 & 63], out);
        putc(left > 1 ? digits[bits >> 6 & 63] : '=', out);
        putc(left > 2 ? digits[bits & 63] : '=', out);
    }
}

void studio_page_write(const studio_about *about, const void *bytes,
                       size_t size, FILE *out)
{
    const char *const at = find(place);
    fwrite(studio_html, 1, (size_t)(at - studio_html), out);
    if (bytes) {
        fputs("<script type=\"application/json\" id=\"about\">", out);
        studio_about_write(about, out);
        fputs("</script>\n<script type=\"application/x-sbt;base64\" "
              "id=\"trace\">",
              out);
        put_base64(bytes, size, out);
        fputs("</script>\n", out);
    }
    const char *const rest = at + sizeof place - 1;
    fwrite(rest, 1, (size_t)(studio_html_end - rest), out);
}

char *studio_page_served(size_t *size)
{
    char *const page = malloc(page_size() + 1);
    const char *const at = find(offline);
    if (!page) return NULL;
    memcpy(page, studio_html, page_size() + 1);
    memcpy(page + (at - studio_html), served, sizeof served - 1);
    *size = page_size();
    return page;
}
