/*
    list.c - what an export of a trace must hold, for check.mjs

    list TRACE: one line each: type, start, duration, then name, category,
    arguments and place in hexadecimal.
*/
#include "tests/tools/export/export_expected.h"

static void put_hex(expected_text text)
{
    putchar('\t');
    for (size_t i = 0; i < text.size; i++)
        printf("%02x", (unsigned char)text.text[i]);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    ts_reader *reader;
    const ts_reader_desc desc = { .path = argv[1], .no_salvage = true };
    const ts_result result = ts_reader_open(&reader, &desc);
    if (result != TS_OK) {
        fprintf(stderr, "list: %s: %s\n", argv[1], ts_result_text(result));
        return 1;
    }
    expected e;
    expected_open(&e, reader);
    for (size_t i = 0; i < e.item_count; i++) {
        printf("%c\t%" PRId64 "\t%" PRId64, e.items[i].type,
               e.items[i].start_ns, e.items[i].duration_ns);
        put_hex(e.items[i].name);
        put_hex(e.items[i].category);
        put_hex(e.items[i].args);
        put_hex(e.items[i].place);
        putchar('\n');
    }
    expected_close(&e);
    ts_reader_close(reader);
    return fflush(stdout) == 0 ? 0 : 1;
}
