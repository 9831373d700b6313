/*
    captures_fixture.h - captures as tests read them: operations, contents,
                         attributes

    Includes no implementation: the test has chosen that already.
*/
#ifndef CAPTURES_FIXTURE_H
#define CAPTURES_FIXTURE_H

#include "tests/record/record_fixture.h"

RT_UNUSED static ts_reader *ct_open(const char *path)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_int_equal(ts_reader_verify(reader), TS_OK);
    return reader;
}

// Of a kind, counted from 0 in the order of the file.
RT_UNUSED static ts_capture ct_nth(ts_reader *reader, ts_event_kind kind,
                                   size_t n)
{
    ts_capture c;
    for (size_t i = 0; ts_reader_capture(reader, i, &c); i++)
        if (c.head.kind == (uint32_t)kind && !n--) return c;
    fail_msg("there are not so many captures of %s", ts_event_name(kind));
    return c;
}

RT_UNUSED static const char *ct_name(ts_reader *reader, uint32_t name)
{
    static char text[256];
    const ts_text found = ts_reader_name(reader, name);
    snprintf(text, sizeof text, "%.*s", (int)found.size, found.text);
    return text;
}

// The bytes of a region, to be freed; NULL if one of its chunks is not there.
RT_UNUSED static uint8_t *
ct_bytes(ts_reader *reader, const ts_capture_region *r, const uint64_t list[2])
{
    const void *hashes, *bytes;
    size_t size, chunk;
    if (ts_reader_blob(reader, list, &hashes, &size) != TS_OK) return NULL;
    assert_int_equal(size / 16, (r->size + TS_CAPTURE_CHUNK - 1) / 65536);
    uint8_t *const all = malloc(r->size);
    for (size_t i = 0; i < size / 16; i++) {
        uint64_t hash[2];
        memcpy(hash, (const char *)hashes + 16 * i, 16);
        if (ts_reader_blob(reader, hash, &bytes, &chunk) != TS_OK) {
            free(all);
            return NULL;
        }
        memcpy(all + i * TS_CAPTURE_CHUNK, bytes, chunk);
    }
    return all;
}

// What lies at an address before or after an operation.
RT_UNUSED static void ct_is(ts_reader *reader, const ts_capture *c,
                            uint64_t address, bool before, const void *want,
                            size_t size)
{
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        const uint64_t offset = address - r->address;
        if (offset >= r->size) continue;
        assert_true(size <= r->size - offset);
        uint8_t *const bytes =
            ct_bytes(reader, r, before ? r->before : r->after);
        assert_non_null(bytes);
        assert_memory_equal(bytes + offset, want, size);
        free(bytes);
        return;
    }
    fail_msg("no region has 0x%" PRIx64, address);
}

// The attribute number n of an id; NULL: there is none.
RT_UNUSED static const void *ct_attribute(const ts_capture *c, uint32_t id,
                                          uint32_t size, size_t n)
{
    ts_attribute one;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &one);) {
        if (one.id != id || n--) continue;
        assert_int_equal(one.size, size);
        return one.bytes;
    }
    return NULL;
}

RT_UNUSED static void ct_param(const ts_capture *c, uint32_t index,
                               ts_capture_param_type type, const void *bytes,
                               uint32_t size)
{
    assert_true(index < c->head.param_count);
    const ts_capture_param *const p = &c->params[index];
    assert_int_equal(p->type, type);
    assert_int_equal(p->size, size);
    assert_int_equal(p->offset % 8, 0);
    if (bytes) assert_memory_equal(c->args + p->offset, bytes, size);
}

RT_UNUSED static uint64_t ct_value(const ts_capture *c, uint32_t index)
{
    uint64_t value;
    assert_true(index < c->head.param_count);
    memcpy(&value, c->args + c->params[index].offset, sizeof value);
    return value;
}

#endif // CAPTURES_FIXTURE_H
