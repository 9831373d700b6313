/*
    test_scene_names.c - names of C++ and Rust are shown as they were written
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/wire.h"

static int reads;

static char *read_one(const char *name)
{
    reads++;
    return strcmp(name, "_Z4gemmIfEvv") ? NULL : strdup("void gemm<float>()");
}

// Kernels of a name that is read, of one that is not, and of plain ones; a zone
// and a call whose name is read.
static staged make(void)
{
    staged t;
    made_begin(&t.m, 0);
    made_launch(&t.m, S0, "_Z4gemmIfEvv", 0, 10, 20);
    made_call(&t.m, HOST, "_Z4gemmIfEvv", 30, 36);
    made_zone(&t.m, HOST, "_Z4gemmIfEvv", 40, 50);
    made_launch(&t.m, S0, "_Zwhat", 50, 60, 70);
    made_launch(&t.m, S0, "relu", 70, 80, 90);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    return t;
}

static uint32_t kernel_at(staged *t, int64_t ns, scene_item *item)
{
    assert_true(
        scene_pick(t->s, staged_row(t, SCENE_WORK, S0, 0), ns, 0, item));
    return item->label;
}

static size_t found(staged *t, const char *text)
{
    bool matches[16];
    assert_true(scene_label_count(t->s) <= 16);
    return scene_search(t->s, (ts_text){ text, strlen(text) }, matches);
}

static void shows(staged *t)
{
    scene_item item;
    facts f = { "" };
    assert_string_equal("void gemm<float>()",
                        staged_label(t, kernel_at(t, 15, &item)));
    assert_true(scene_event(t->s, item.ref, add_fact, &f));
    assert_non_null(strstr(f.text, ";symbol=_Z4gemmIfEvv;"));
    assert_string_equal("_Zwhat", staged_label(t, kernel_at(t, 65, &item)));
    f = (facts){ "" };
    assert_true(scene_event(t->s, item.ref, add_fact, &f));
    assert_null(strstr(f.text, "symbol"));
    assert_int_equal(3, found(t, "gemm<FLOAT>")); // kernel, call, zone
    assert_int_equal(3, found(t, "_Z4gemm"));     // as a symbol, too
    assert_int_equal(1, found(t, "relu"));
}

UNIT_TEST(names_are_read_once_wherever_they_occur)
{
    staged t = make();
    reads = 0;
    scene_read_names(t.s, read_one);
    assert_true(scene_load(t.s, 0, 100));
    shows(&t);
    assert_int_equal(2, reads);
    staged_close(&t);
}

UNIT_TEST(names_stay_as_they_are_without_a_reader)
{
    staged t = make();
    scene_item item;
    assert_true(scene_load(t.s, 0, 100));
    assert_string_equal("_Z4gemmIfEvv",
                        staged_label(&t, kernel_at(&t, 15, &item)));
    const uint8_t hue = scene_label_at(t.s, item.label)->hue;
    assert_int_equal(0, found(&t, "gemm<float>"));
    scene_read_names(t.s, read_one); // labels that are there follow
    shows(&t);
    // The same name has the same colour on a page that cannot read it.
    assert_int_equal(hue, scene_label_at(t.s, kernel_at(&t, 15, &item))->hue);
    staged_close(&t);
}

static void put_u32(uint8_t *to, size_t *size, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[(*size)++] = (uint8_t)(value >> 8 * i);
}

static void put_text(uint8_t *to, size_t *size, const char *text)
{
    put_u32(to, size, (uint32_t)strlen(text));
    memcpy(to + *size, text, strlen(text));
    *size += strlen(text);
}

static ts_result tell(staged *t, uint32_t count, size_t less)
{
    uint8_t q[128], *answer;
    size_t size = 0, answered;
    put_u32(q, &size, 0x515354 | SCENE_WIRE_VERSION << 24);
    put_u32(q, &size, SCENE_ASK_NAMES);
    put_u32(q, &size, count);
    put_text(q, &size, "_Z4gemmIfEvv");
    put_text(q, &size, "void gemm<float>()");
    scene_answer(t->s, q, size - less, &answer, &answered);
    assert_int_equal(12, answered);
    int32_t result;
    memcpy(&result, answer + 8, 4);
    free(answer);
    return (ts_result)result;
}

UNIT_TEST(a_page_tells_the_names_that_it_knows)
{
    staged t = make();
    assert_true(scene_load(t.s, 0, 100));
    assert_int_equal(TS_ERR_USAGE, tell(&t, 2, 0));
    assert_int_equal(TS_OK, tell(&t, 1, 0));
    shows(&t);
    assert_int_equal(TS_OK, tell(&t, 1, 0)); // it is known
    assert_int_equal(TS_ERR_USAGE, tell(&t, 1, 1));
    staged_close(&t);
}

UNIT_TEST(names_that_are_read_are_limited)
{
    staged t = make();
    char name[16];
    for (int i = 0; i < SCENE_READ_NAMES; i++) {
        const int size = snprintf(name, sizeof name, "_Z%d", i);
        assert_true(scene_name_read(t.s, (ts_text){ name, (size_t)size },
                                    (ts_text){ "f()", 3 }));
    }
    assert_false(
        scene_name_read(t.s, (ts_text){ "_Zx", 3 }, (ts_text){ "f()", 3 }));
    reads = 0;
    scene_read_names(t.s, read_one);
    scene_item item;
    assert_true(scene_load(t.s, 0, 100));
    assert_string_equal("_Z4gemmIfEvv",
                        staged_label(&t, kernel_at(&t, 15, &item)));
    assert_int_equal(0, reads);
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
