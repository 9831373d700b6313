/*
    print.c - the answers as text and as JSON
*/
#include "tools/devices/devices.h"

enum { INDENT = 18 };
static uint32_t column; // of the current line

// Prints words, wrapped to the terminal.
static void put(const char *text)
{
    while (*text) {
        size_t blanks = strspn(text, " ");
        const size_t size = blanks + strcspn(text + blanks, " ");
        if (cli_has_width() && !cli_is_narrow() && column > INDENT &&
            column + cli_columns(text, size) > cli_width()) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else {
            blanks = 0;
        }
        cli_put_text(stdout, text + blanks, size - blanks);
        column += cli_columns(text + blanks, size - blanks);
        text += size;
    }
}

static void end_line(void)
{
    putchar('\n');
    column = 0;
}

// Starts a line with a padded name.
static void begin_line(const char *name)
{
    printf("  %-*s", INDENT - 2, name);
    column = INDENT;
}

static const devices_item *find(const devices_answer *a, devices_kind kind)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].kind == kind) return &a->items[i];
    return NULL;
}

// Why a query did not finish; NULL if it did.
static const char *trouble(const devices_answer *a, cli_text *made)
{
    if (a->hung) return "its driver or library did not answer in time";
    if (!a->signal) return NULL;
    *made = cli_format("its library crashed (signal %d)", a->signal);
    return made->s;
}

/* ---- Text ---------------------------------------------------------------- */

static void put_item(const devices_item *item, uint32_t *device)
{
    switch (item->kind) {
    case DEVICES_FACT: begin_line(item->first); break;
    case DEVICES_DEVICE:
        begin_line(cli_format("device %" PRIu32, (*device)++).s);
        put(item->first);
        end_line();
        begin_line("");
        break;
    case DEVICES_WORKS:
        begin_line("recorded");
        put(item->first);
        put(" ");
        break;
    case DEVICES_FAILS:
        begin_line("not recorded");
        put(item->first);
        if (!*item->second) break;
        end_line();
        begin_line("to fix it");
        break;
    case DEVICES_NOTHING: return;
    }
    put(item->second);
    end_line();
}

void devices_text(const devices_answer *answers)
{
    cli_fold();
    for (size_t k = 0; k < devices_vendor_count; k++) {
        const devices_answer *const a = &answers[k];
        const devices_item *const none = find(a, DEVICES_NOTHING);
        cli_text made;
        const char *const wrong = trouble(a, &made);
        uint32_t device = 0;
        put(a->vendor->title);
        if (none && !wrong) {
            put(": ");
            put(none->first);
        }
        end_line();
        for (size_t i = 0; i < a->count; i++)
            put_item(&a->items[i], &device);
        if (wrong)
            printf("  not recorded    %s\n  to fix it       see the output of "
                   "dmesg, or use a longer --timeout\n",
                   wrong);
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static void list(cli_json *json, const devices_answer *a, const char *key,
                 devices_kind kind, const char *first, const char *second)
{
    cli_json_open(json, key, '[');
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i].kind != kind) continue;
        cli_json_open(json, NULL, '{');
        cli_json_string(json, first, a->items[i].first);
        cli_json_string(json, second, a->items[i].second);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void vendor_json(cli_json *json, const devices_answer *a)
{
    const devices_item *const none = find(a, DEVICES_NOTHING);
    cli_text made;
    const char *const wrong = trouble(a, &made);
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "vendor", a->vendor->name);
    cli_json_bool(json, "captured", !wrong && find(a, DEVICES_WORKS) != NULL);
    if (none) cli_json_string(json, "absent", none->first);
    if (wrong) cli_json_string(json, "trouble", wrong);
    list(json, a, "devices", DEVICES_DEVICE, "name", "details");
    list(json, a, "facts", DEVICES_FACT, "key", "value");
    list(json, a, "captures", DEVICES_WORKS, "what", "how");
    list(json, a, "problems", DEVICES_FAILS, "why", "fix");
    cli_json_close(json, '}');
}

void devices_json(const devices_answer *answers)
{
    cli_json json = { .out = stdout, .lines = 4 };
    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "vendors", '[');
    for (size_t k = 0; k < devices_vendor_count; k++)
        vendor_json(&json, &answers[k]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}
