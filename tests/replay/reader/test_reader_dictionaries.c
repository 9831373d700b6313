// Dictionaries, metadata, losses, blobs, compressed chunks.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

static ts_reader *open_forge(forge *f)
{
    ts_reader *reader;
    forge_finish(f);
    const ts_reader_desc desc = { .bytes = f->bytes, .size = f->size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

static void close_both(ts_reader *reader, forge *f)
{
    ts_reader_close(reader);
    forge_close(f);
}

UNIT_TEST(a_later_definition_replaces_an_earlier_one)
{
    forge f;
    forge_open(&f, 1);
    forge_name(&f, 9, "late");
    forge_name(&f, 3, "first");
    forge_name(&f, 3, "second");
    forge_begin(&f, FORGE_NAMES);
    forge_entry(&f, 3, "third", 5);
    forge_entry(&f, 3, "fourth", 6);
    forge_entry(&f, 1, "a\0b", 3);
    forge_end(&f);
    ts_reader *const reader = open_forge(&f);
    assert_string_equal(ts_reader_name(reader, 3).text, "fourth");
    assert_string_equal(ts_reader_name(reader, 9).text, "late");
    assert_int_equal(ts_reader_name(reader, 1).size, 3);
    assert_memory_equal(ts_reader_name(reader, 1).text, "a\0b", 4);
    assert_int_equal(ts_reader_info(reader)->name_count, 3);
    const uint32_t unknown[] = { 0, 2, 4, 10, 0xFFFFFFFF };
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(ts_reader_name(reader, unknown[i]).text, "");
        assert_int_equal(ts_reader_name(reader, unknown[i]).size, 0);
    }
    assert_null(ts_reader_site(reader, 1));
    assert_int_equal(ts_reader_site_name(reader, 1).size, 0);
    assert_null(ts_reader_launch(reader, 1));
    assert_null(ts_reader_module(reader, 1));
    close_both(reader, &f);
}

static size_t most_memory; // that a single request asked for

static void *watch(void *user, void *ptr, size_t old_size, size_t new_size)
{
    if (new_size > most_memory) most_memory = new_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

UNIT_TEST(ids_all_over_the_place_cost_no_memory)
{
    forge f;
    forge_open(&f, 1);
    forge_begin(&f, FORGE_NAMES);
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t id = 0xFFFFFFFE - i * 4000000;
        forge_entry(&f, id, &id, sizeof id);
    }
    forge_end(&f);
    forge_track(&f, 0xFFFFFFFE, 2, 0xFFFFFFFD, 0xFFFFFFFE, 0);
    forge_finish(&f);
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f.bytes,
                                  .size = f.size,
                                  .allocator = { watch, NULL } };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_true(most_memory < 100000);
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t id = 0xFFFFFFFE - i * 4000000;
        const ts_text text = ts_reader_name(reader, id);
        assert_int_equal(text.size, 4);
        assert_memory_equal(text.text, &id, 4);
        assert_int_equal(ts_reader_name(reader, id - 1).size, 0);
    }
    ts_track track;
    assert_true(ts_reader_track(reader, 0xFFFFFFFE, &track));
    assert_int_equal(track.name.size, 4);
    close_both(reader, &f);
}

UNIT_TEST(dictionaries_give_what_was_put_in)
{
    forge f;
    forge_open(&f, SAMPLE_START);
    sample_dictionaries(&f);
    ts_reader *const reader = open_forge(&f);
    const ts_site_entry *const site = ts_reader_site(reader, 1);
    assert_int_equal(site->line, 10);
    assert_int_equal(site->color, 0xFF8000);
    assert_string_equal(ts_reader_site_name(reader, 2).text, "beta");
    const ts_launch_entry *const launch = ts_reader_launch(reader, 1);
    assert_int_equal(launch->grid[0], 8);
    assert_int_equal(launch->block[0], 64);
    assert_int_equal(launch->registers, 32);
    assert_int_equal(launch->local, 4);
    assert_int_equal(ts_reader_module(reader, 1)->address, 0x400000);
    assert_int_equal(ts_reader_build_id(reader, 1).size, 8);
    assert_int_equal(ts_reader_build_id(reader, 2).size, 0);
    const ts_frame_entry *frames;
    assert_int_equal(ts_reader_stack(reader, 1, &frames), 1);
    assert_int_equal(frames[0].offset, 0x10);
    assert_int_equal(ts_reader_stack(reader, 2, &frames), 0);
    assert_null(frames);
    ts_track track;
    assert_true(ts_reader_track_at(reader, 3, &track));
    assert_int_equal(track.id, 4);
    assert_int_equal(track.type, TS_TRACK_COUNTER);
    assert_string_equal(track.unit.text, "unit");
    assert_int_equal(track.number, 104);
    assert_false(ts_reader_track_at(reader, 4, &track));
    assert_false(ts_reader_track(reader, 5, &track));
    close_both(reader, &f);
}

UNIT_TEST(a_site_without_a_name_is_called_by_its_function)
{
    const uint64_t site[] = { 0, 0, 1, 2, 3, 0 };
    forge f;
    forge_open(&f, 1);
    forge_name(&f, 1, "main");
    forge_begin(&f, FORGE_SITES);
    forge_numbers(&f, 5, 6, 6, site);
    forge_end(&f);
    ts_reader *const reader = open_forge(&f);
    assert_string_equal(ts_reader_site_name(reader, 5).text, "main");
    close_both(reader, &f);
}

UNIT_TEST(metadata_keeps_the_last_value_of_a_key)
{
    const double pi = 3.14;
    uint64_t bits;
    memcpy(&bits, &pi, 8);
    const uint64_t facts[][3] = {
        { 1, 1, 5 }, { 2, 3, 3 }, { 1, 1, (uint64_t)-6 }, { 3, 2, bits }
    };
    forge f;
    forge_open(&f, 1);
    forge_name(&f, 1, "count");
    forge_name(&f, 2, "host");
    forge_name(&f, 3, "pi");
    forge_begin(&f, FORGE_METADATA);
    for (size_t i = 0; i < 4; i++)
        forge_numbers(&f, 0, 2, 3, facts[i]);
    forge_numbers(&f, 7, 2, 3, facts[0]);
    forge_end(&f);
    ts_reader *const reader = open_forge(&f);
    ts_metadata fact;
    assert_int_equal(ts_reader_metadata_count(reader), 4);
    assert_true(ts_reader_metadata(reader, 0, "count", &fact));
    assert_int_equal(fact.number, -6);
    assert_true(ts_reader_metadata(reader, 7, "count", &fact));
    assert_int_equal(fact.number, 5);
    assert_true(ts_reader_metadata(reader, 0, "host", &fact));
    assert_int_equal(fact.type, TS_VALUE_TEXT);
    assert_string_equal(fact.text.text, "pi");
    assert_true(ts_reader_metadata(reader, 0, "pi", &fact));
    assert_true(fact.real == pi);
    assert_false(ts_reader_metadata(reader, 0, "pie", &fact));
    assert_false(ts_reader_metadata(reader, 1, "pi", &fact));
    assert_false(ts_reader_metadata_at(reader, 4, &fact));
    close_both(reader, &f);
}

UNIT_TEST(losses_add_up_by_track_cause_and_detail)
{
    const uint64_t losses[][7] = {
        { 2, 1, 0, 5, 1100, 1200, 0 },    { 2, 1, 0, 6, 1050, 1150, 0 },
        { 2, 1, 3, 1, 1100, 1100, 0 },    { 1, 64, 0, 9, 1000, 1300, 77 },
        { 2, 63, 0, 100, 1000, 1000, 0 }, // of a later version
    };
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 3, 1000, 0, 0);
    forge_begin(&f, FORGE_LOSS);
    for (size_t i = 0; i < 5; i++)
        forge_numbers(&f, (uint32_t)losses[i][0], 2, 6, &losses[i][1]);
    forge_end(&f);
    ts_reader *const reader = open_forge(&f);
    ts_loss_row row;
    assert_int_equal(ts_reader_loss_count(reader), 4);
    assert_true(ts_reader_loss(reader, 0, &row));
    assert_int_equal(row.cause, TS_LOSS_HELPED);
    assert_int_equal(row.stall_ns, 77);
    assert_true(ts_reader_loss(reader, 1, &row));
    assert_int_equal(row.count, 11);
    assert_int_equal(row.first_ns, 50);
    assert_int_equal(row.last_ns, 200);
    assert_int_equal(ts_reader_info(reader)->lost, 112);
    assert_false(ts_reader_loss(reader, 4, &row));
    close_both(reader, &f);
}

UNIT_TEST(blobs_are_found_by_their_hash)
{
    char bytes[3000];
    forge f;
    memset(bytes, 'x', sizeof bytes);
    forge_open(&f, 1);
    forge_blob(&f, "", 0);
    forge_blob(&f, bytes, sizeof bytes);
    const size_t damaged = forge_blob(&f, "broken", 6);
    forge_blob(&f, "twice", 5);
    forge_blob(&f, "twice", 5);
    forge_finish(&f);
    f.bytes[damaged + 64 + 16] ^= 1;
    f.bytes[f.chunks[3] + 64 + 17] ^= 1; // the first of the two
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f.bytes, .size = f.size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    const struct {
        const void *bytes;
        size_t size;
        ts_result result;
    } wanted[] = { { "", 0, TS_OK },
                   { bytes, sizeof bytes, TS_OK },
                   { "broken", 6, TS_ERR_CORRUPT },
                   { "twice", 5, TS_OK },
                   { "absent", 6, TS_ERR_NOT_FOUND } };
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < 5; i++) {
            const XXH128_hash_t hash =
                XXH3_128bits(wanted[i].bytes, wanted[i].size);
            const uint64_t key[] = { hash.low64, hash.high64 };
            const void *found;
            size_t size;
            assert_int_equal(ts_reader_blob(reader, key, &found, &size),
                             wanted[i].result);
            if (wanted[i].result != TS_OK) {
                assert_null(found);
                continue;
            }
            assert_int_equal(size, wanted[i].size);
            assert_memory_equal(found, wanted[i].bytes, size);
        }
    assert_int_equal(ts_reader_damage_count(reader), 2);
    close_both(reader, &f);
}

#ifdef TRACESMITH_ZSTD
// The sample again with every payload compressed gives the same.
UNIT_TEST(compressed_chunks_read_like_plain_ones)
{
    forge plain, packed;
    sample_forge(&plain);
    forge_open(&packed, SAMPLE_START);
    for (size_t i = 0; i < plain.chunk_count; i++) {
        const uint8_t *const chunk = plain.bytes + plain.chunks[i];
        forge_begin(&packed, chunk[4]);
        packed.next.event = chunk[5];
        packed.next.flags = 1;
        packed.next.track = (uint32_t)forge_get(chunk + 12, 4);
        packed.next.count = (uint32_t)forge_get(chunk + 16, 4);
        packed.next.first = forge_get(chunk + 24, 8);
        packed.next.last = forge_get(chunk + 32, 8);
        forge_add(&packed.payload, chunk + 64,
                  (size_t)forge_get(chunk + 40, 4));
        forge_end(&packed);
    }
    forge_finish(&packed);
    rows a = rows_read(plain.bytes, plain.size, false);
    rows b = rows_read(packed.bytes, packed.size, false);
    assert_false(a.reported || b.reported);
    assert_true(rows_same(&a, &b));
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = packed.bytes, .size = packed.size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    const XXH128_hash_t hash = XXH3_128bits("blob", 4);
    const uint64_t key[] = { hash.low64, hash.high64 };
    const void *found;
    size_t size;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ts_reader_blob(reader, key, &found, &size), TS_OK);
        assert_int_equal(size, 4);
        assert_memory_equal(found, "blob", 4);
    }
    ts_reader_close(reader);
    rows_close(&a);
    rows_close(&b);
    forge_close(&plain);
    forge_close(&packed);
}

// What is compressed may say that it has any size.
UNIT_TEST(blobs_are_inflated_up_to_a_bound_and_freed)
{
    static uint8_t bytes[3][5000];
    uint64_t keys[3][2];
    forge f;
    forge_open(&f, 0);
    for (int i = 0; i < 3; i++) {
        const size_t size = i == 1 ? sizeof bytes[1] : 1000;
        memset(bytes[i], i, size);
        const XXH128_hash_t hash = XXH3_128bits(bytes[i], size);
        keys[i][0] = hash.low64;
        keys[i][1] = hash.high64;
        forge_begin(&f, FORGE_BLOB);
        f.next.flags = 1;
        forge_add(&f.payload, keys[i], 16);
        forge_add(&f.payload, bytes[i], size);
        forge_end(&f);
    }
    forge_finish(&f);
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f.bytes,
                                  .size = f.size,
                                  .inflate_bytes = 2000 };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    for (int again = 0; again < 3; again++) {
        const void *first, *found;
        size_t size;
        ts_damage damage;
        assert_int_equal(ts_reader_blob(reader, keys[0], &first, &size), TS_OK);
        assert_int_equal(ts_reader_blob(reader, keys[1], &found, &size),
                         TS_ERR_UNSUPPORTED);
        assert_null(found);
        assert_int_equal(ts_reader_blob(reader, keys[2], &found, &size), TS_OK);
        assert_memory_equal(found, bytes[2], 1000);
        assert_memory_equal(first, bytes[0], 1000);
        assert_int_equal(ts_reader_blob(reader, keys[0], &found, &size), TS_OK);
        assert_ptr_equal(first, found);
        assert_int_equal(ts_reader_damage_count(reader), 1);
        assert_true(ts_reader_damage(reader, 0, &damage));
        assert_string_equal(damage.text,
                            "the compressed chunk exceeds the size limit");
        if (again != 1) ts_reader_blobs_free(reader);
    }
    close_both(reader, &f);
}

static void add_image(forge *f, uint32_t id)
{
    const ts_capture_image image = { .type = TS_CAPTURE_IMAGE, .id = id };
    const XXH128_hash_t hash = XXH3_128bits(&image, sizeof image);
    const uint64_t key[2] = { hash.low64, hash.high64 };
    forge_begin(f, FORGE_CAPTURE);
    f->next.flags = 1;
    forge_add(&f->payload, key, 16);
    forge_add(&f->payload, &image, sizeof image);
}

// They are bounded together; one that is damaged takes nothing of that.
UNIT_TEST(captures_behind_a_damaged_one_are_read)
{
    forge f;
    forge_open(&f, 0);
    add_image(&f, 1);
    const size_t first = forge_end(&f);
    for (uint32_t id = 2; id < 5; id++) {
        add_image(&f, id);
        forge_end(&f);
    }
    forge_finish(&f);
    f.bytes[first + 46] = 16; // 1 MiB more than is in it
    forge_seal(f.bytes, first);
    ts_reader *reader;
    const ts_reader_desc desc = {
        .bytes = f.bytes,
        .size = f.size,
        .no_index = true,
        .inflate_bytes = 2 * (16 + sizeof(ts_capture_image)),
    };
    ts_capture_image image;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_true(ts_reader_image_at(reader, 0, &image));
    assert_int_equal(image.id, 2);
    assert_true(ts_reader_image_at(reader, 1, &image));
    assert_int_equal(image.id, 3);
    assert_false(ts_reader_image_at(reader, 2, &image)); // too much
    assert_int_equal(ts_reader_damage_count(reader), 2);
    close_both(reader, &f);
}
#endif

int main(void)
{
    return unit_run(NULL, NULL);
}
