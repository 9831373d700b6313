/*
    test_cli_columns.c - how wide texts are, and names cut to a width
*/
#include "tools/cli/cli.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

static uint32_t wide(const char *text)
{
    return cli_columns(text, strlen(text));
}

UNIT_TEST(a_character_is_as_wide_as_terminals_draw_it)
{
    assert_int_equal(5, wide("zones"));
    assert_int_equal(4, wide("Ma\u00dfe"));                // one column each
    assert_int_equal(8, wide("\u6838\u51fd\u6570\u3042")); // two each
    assert_int_equal(4, wide("\uac00\uff21"));
    assert_int_equal(1, wide("e\u0301")); // a combining accent
    assert_int_equal(2, wide("\U0001F600"));
    assert_int_equal(3, wide("a\u200Bbc")); // of no width
    // What is printed as U+FFFD is one wide: bytes that are no UTF-8, and what
    // would turn the direction of a text.
    assert_int_equal(2, wide("\xFF\xFE"));
    assert_int_equal(1, wide("\u202E"));
}

static const char *padded(const char *text, uint32_t width)
{
    static char shown[64];
    memset(shown, 0, sizeof shown);
    FILE *const out = fmemopen(shown, sizeof shown, "w");
    assert_non_null(out);
    cli_put_padded(out, text, strlen(text), width);
    fclose(out);
    return shown;
}

UNIT_TEST(padding_counts_columns_not_characters)
{
    assert_string_equal("ab   ", padded("ab", 5));
    assert_string_equal("\u6838\u51fd ", padded("\u6838\u51fd", 5));
    assert_string_equal("\u6838\u51fd ", padded("\u6838\u51fd\u6570", 5));
    assert_string_equal("e\u0301x", padded("e\u0301xy", 2)); // they stay one
}

UNIT_TEST(a_cut_text_keeps_start_and_end)
{
    char *cut = cli_cut("abcdefghijklmnop", 16, 11, "...");
    assert_string_equal("abcde...nop", cut);
    free(cut);
    cut = cli_cut("abc", 3, 3, NULL);
    assert_string_equal("abc", cut);
    free(cut);
    for (uint32_t width = 0; width < 40; width++) {
        const char *const text = "\u6838\u51fdab\u0301cd\u6570\u6838ef\u3042"
                                 "\u51fd\u6570gh\u6838\u51fd";
        cut = cli_cut(text, strlen(text), width, "...");
        assert_true(wide(cut) <= width || wide(cut) == wide(text));
        free(cut);
    }
}

// All of them fit, and those that differ look different.
static void check(const char *const *names, size_t count, uint32_t width)
{
    ts_text texts[64] = { { NULL, 0 } };
    const char *shown[64];
    for (size_t i = 0; i < count; i++)
        texts[i] = (ts_text){ names[i], strlen(names[i]) };
    char **const cuts = cli_cut_names(texts, count, width, NULL);
    assert_non_null(cuts);
    for (size_t i = 0; i < count; i++) {
        shown[i] = cuts[i] ? cuts[i] : names[i];
        if (wide(shown[i]) > width)
            fail_msg("%s is wider than %u", shown[i], width);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(shown[i], shown[k]) != !strcmp(names[i], names[k]))
                fail_msg("%s and %s: %s, %s in %u columns", names[i], names[k],
                         shown[i], shown[k], width);
    }
    cli_cuts_free(cuts, count);
}

UNIT_TEST(names_that_differ_never_look_alike)
{
    static const char *const names[] = {
        "sm80_xmma_gemm_f32f32_f32f32_nn_n_tilesize32x32x8_kernel_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_nn_n_tilesize64x32x8_kernel_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_nn_n_tilesize64x64x8_kernel_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_tn_n_tilesize64x64x8_kernel_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_tn_n_tilesize64x64x8_kernel_cublas",
        "void at::native::add<float, 4>(int, float)",
        "void at::native::add<float, 4>(long, float)",
        "void at::cuda::add<float, 4>(int, float)",
        "void elementwise_kernel<at::native::FillFunctor<float>, int>(T1, T2)",
        "void elementwise_kernel<at::native::FillFunctor<double>, int>(T1, T2)",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "\u6838\u51fd\u6570\u6838\u51fd\u6570\u6838\u51fd\u6570\u6838\u51fda",
        "\u6838\u51fd\u6570\u6838\u51fd\u6570\u6838\u51fd\u6570\u6838\u51fdb",
        "\u6838\u51fd\u6570\u6838a\u6570\u6838\u51fd\u6570\u6838\u51fdb",
        "short",
        "",
    };
    for (uint32_t width = 12; width < 80; width++)
        check(names, sizeof names / sizeof *names, width);
}

// 64 names of 120 characters, some of which differ in one place only.
static void assert_cuts(const char *const *names, const char *const *wanted,
                        size_t count, uint32_t width)
{
    ts_text texts[8] = { { NULL, 0 } };
    for (size_t i = 0; i < count; i++)
        texts[i] = (ts_text){ names[i], strlen(names[i]) };
    char **const cuts = cli_cut_names(texts, count, width, "..");
    assert_non_null(cuts);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(wanted[i], cuts[i] ? cuts[i] : names[i]);
    cli_cuts_free(cuts, count);
}

UNIT_TEST(a_start_is_shown_as_far_as_there_is_room)
{
    static const char *const two[] = {
        "void cutlass::gemm(int const*, float*)",
        "void cublas::gemm(int const*, float*)",
    };
    static const char *const distinct[] = { "void cutlass:..oat*)",
                                            "void cublas::..oat*)" };
    assert_cuts(two, distinct, 2, 20);
    // A brief name that fits is not cut in two to differ from another.
    static const char *const same[] = {
        "foo<int>", "void nsone::foo<int>(int const*, float*)"
    };
    static const char *const whole[] = { "foo<int>", "void nsone::foo<in.." };
    assert_cuts(same, whole, 2, 20);
}

UNIT_TEST(names_of_all_sorts_never_look_alike)
{
    static char texts[64][121];
    const char *names[64];
    uint32_t random = 1;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 64; i++) {
            memset(texts[i], 'x', 120);
            for (int change = 0; change < 3; change++) {
                random = random * 1664525 + 1013904223;
                texts[i][(random >> 8) % 120] = (char)('a' + (random >> 28));
            }
            names[i] = texts[i];
        }
        for (uint32_t width = 12; width < 60; width += 7)
            check(names, 64, width);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
