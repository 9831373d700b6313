/*
    test_report.c - reports show what is put in, whatever texts hold
*/
#include "tests/tools/analyze/story_forge.h"
#include "tools/analyze/output/output.h"
#include "tools/analyze/report/parts.h"
#include <ctype.h>

static const cli_tool tool = { .name = "test" };
// What a trace may hold, and what must not come out of a page or SVG.
static const char hostile[] =
    "</td></svg><script>alert('x')</script>&\"\x01\x7f\xff\xc0\x80\xef\xbf\xbf";

static void expect_words(const char *wanted, report_value value)
{
    assert_string_equal(wanted, report_words(value).s);
}

UNIT_TEST(values_read_as_people_write_them)
{
    expect_words("1,234", report_count(1234));
    expect_words("1.500 us", report_ns(1500));
    expect_words("-1.500 us", report_ns(-1500));
    expect_words("1.234567 s", report_time(1234567890));
    expect_words("-0.000001 s", report_time(-1234));
    expect_words("12.5 %", report_share(1, 8));
    expect_words("12.3 GB/s", report_rate(12300, 1000));
    expect_words("1.00 kB/s", report_rate(1000, 1000000000));
    expect_words("1.00 TFLOP/s", report_flops(1000000, 1000));
    expect_words("0.67", report_factor(2, 3));
    expect_words("-", report_share(1, 0));
    expect_words("-", report_unknown(REPORT_NS));
}

UNIT_TEST(the_lowest_confidence_counts)
{
    report *const r = report_open();
    report_section *const s = report_begin(r, "a", "A");
    report_trust(s, REPORT_MEDIUM, "first");
    report_trust(s, REPORT_HIGH, "second");
    assert_int_equal(REPORT_MEDIUM, s->confidence);
    assert_string_equal("second", s->reasons->next->text.text);
    report_answer(s, "%d.", 1);
    report_answer(s, "%d.", 2);
    assert_string_equal("1. 2.", s->answer.text);
    report_close(r);
}

UNIT_TEST(tables_sort_by_value_and_keep_their_evidence)
{
    static const report_column columns[] = { { "name", "n", REPORT_TEXT },
                                             { "share", "s", REPORT_SHARE } };
    // 1/3, unknown, 2/3, 2/6: equal ones keep their order.
    const int64_t parts[] = { 1, 1, 2, 2 }, wholes[] = { 3, 0, 3, 6 };
    const char wanted[] = "caDb";
    report *const r = report_open();
    report_section *const s = report_begin(r, "a", "A");
    report_table *const t = report_table_begin(s, "t", "T", columns, 2);
    for (int i = 0; i < 4; i++) {
        const char name[] = { "abcD"[i], 0 };
        const report_value row[] = { report_string(name),
                                     report_share(parts[i], wholes[i]) };
        const report_evidence e = report_from_to(0, i, i + 1);
        report_row(t, row, &e);
    }
    assert_false(report_sort(r, "nothing"));
    assert_true(report_sort(r, "share"));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wanted[i], t->values[2 * i].text.text[0]);
        assert_int_equal(strchr("abcD", wanted[i]) - "abcD",
                         t->evidence[i].from_ns);
    }
    report_close(r);
}

// A report in which every text is hostile and every part is used.
static report *make_report(void)
{
    static const report_column columns[] = { { "name", "n<", REPORT_TEXT },
                                             { "ns", "t&", REPORT_NS } };
    static const char *const parts[] = { "a<b", "c" };
    const ts_text text = { hostile, sizeof hostile - 1 };
    const int64_t sizes[] = { 3, 4 };
    report *const r = report_open();
    report_loss(r, "%s", hostile);
    report_section *const s = report_begin(r, "one", "One <&");
    report_answer(s, "%s", hostile);
    report_trust(s, REPORT_LOW, "%s", hostile);
    report_note(s, "%s", hostile);
    report_figure(s, "f", "f<", report_text(text));
    report_figure(s, "g", "g", report_unknown(REPORT_NS));
    report_table *const t = report_table_begin(s, "t", "T<", columns, 2);
    for (int i = 0; i < 5; i++) {
        const report_value row[] = { report_text(text), report_ns(i) };
        report_evidence e = report_from_to(0, -i, i);
        report_evidence_add(&e, 7);
        report_row(t, row, i % 2 ? &e : NULL);
    }
    report_chart *c = report_bars_begin(s, "bars", "B<", REPORT_NS);
    report_bar(c, text, report_ns(5));
    report_bar(c, text, report_unknown(REPORT_NS));
    c = report_stacked_begin(s, "stacked", "S<", REPORT_NS, parts, 2);
    report_stacked_bar(c, text, sizes);
    c = report_series_begin(s, "series", "L<", REPORT_BYTES);
    const uint32_t line = report_series_line(c, text);
    report_series_add(c, line, 0, 5);
    report_series_add(c, line, 10, INT64_MAX);
    report_series_add(c, line, INT64_MAX, -5);
    c = report_flame_begin(s, "flame", "F<", REPORT_NS);
    const uint32_t node = report_flame_add(c, REPORT_ROOT, text, 5);
    report_flame_add(c, node, text, 7);
    const report_finding finding = { .id = "x",
                                     .title = "t<",
                                     .what = text,
                                     .todo = text,
                                     .how = text,
                                     .has_gain = true,
                                     .gain_ns = 5,
                                     .of_ns = 10 };
    report_finding_add(s, &finding);
    report_not_applicable(report_begin(r, "two", "Two"), "%s", hostile);
    assert_false(report_failed(r));
    return r;
}

/* ---- Pages --------------------------------------------------------------- */

static char *read_all(const char *path)
{
    FILE *const in = fopen(path, "rb");
    assert_non_null(in);
    char *const text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    return text;
}

// Tags are closed in order, every attribute is quoted, every & begins a
// reference, every byte is UTF-8 and no control: what an XML parser wants.
static void expect_well_formed(const char *text)
{
    char open[64][16];
    int depth = 0;
    for (const char *at = text; *at; at++) {
        uint32_t code;
        const size_t step = cli_utf8(at, strlen(at), &code);
        assert_true(step > 1 || (unsigned char)*at < 0x80);
        assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
        if (*at == '&') assert_true(strcspn(at, ";") < 8);
        at += step - 1;
        if (*at != '<' || at[1] == '!') continue;
        const bool end = at[1] == '/';
        const char *name = at + 1 + end;
        const size_t size = strcspn(name, " />\n");
        assert_true(size > 0 && size < 16 && isalpha((unsigned char)*name));
        if (end) {
            assert_true(depth > 0 && strlen(open[depth - 1]) == size);
            assert_memory_equal(open[--depth], name, size);
        }
        bool quoted = false;
        for (; quoted || *at != '>'; at++) {
            assert_true(*at && (at == name - 1 - end || *at != '<'));
            if (*at == '"') quoted = !quoted;
        }
        if (end || at[-1] == '/') continue;
        assert_true(depth < 64);
        snprintf(open[depth++], 16, "%.*s", (int)size, name);
    }
    assert_int_equal(0, depth);
}

UNIT_TEST(a_page_is_well_formed_whatever_texts_hold)
{
    story s = story_begin();
    char *trace = s.path;
    char page[] = "/tmp/ts-page-XXXXXX";
    close(mkstemp(page));
    story_kernel(&s, S0, 10, 20, "k", HOST, 5);
    story_write(&s);
    analyze_job job = { .tool = &tool, .options = { .top = 2, .rows = 4 } };
    assert_true(analyze_open(&job, &trace, 1));
    report *const r = make_report();
    FILE *const out = fopen(page, "w");
    assert_non_null(out);
    analyze_html(&job, r, out);
    assert_int_equal(fclose(out), 0);
    char *const text = read_all(page);
    expect_well_formed(text);
    // One script, our own; nothing is fetched.
    const char *const script = strstr(text, "<script");
    assert_non_null(script);
    assert_null(strstr(script + 1, "<script"));
    assert_null(strstr(text, "://"));
    assert_null(strstr(text, "alert('x')"));
    assert_non_null(strstr(text, "&lt;script&gt;alert(&#39;x&#39;)"));
    // Two rows are shown, all can be.
    assert_non_null(strstr(text, "(2 of 5)"));
    assert_non_null(strstr(text, "show 5<"));
    free(text);
    report_close(r);
    analyze_close(&job);
    unlink(page);
    story_end(&s);
}

UNIT_TEST(pictures_alone_are_well_formed)
{
    report *const r = make_report();
    for (const report_chart *c = r->sections->charts; c; c = c->next) {
        char *text = NULL;
        size_t size;
        FILE *const out = open_memstream(&text, &size);
        report_svg(out, c, true);
        fclose(out);
        assert_memory_equal("<svg xmlns=\"http://www.w3.org/2000/svg\"", text,
                            38);
        expect_well_formed(text);
        assert_null(strstr(text, "<script"));
        if (c->kind == REPORT_STACKED || c->kind == REPORT_SERIES)
            assert_non_null(strstr(text, "width=\"11\"")); // of a legend
        free(text);
    }
    report_close(r);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
