/*
    test_mcp_protocol.c - messages of ts-mcp, also those that make no sense
*/
#include "tests/tools/mcp/mcp_fixture.h"
#include "tools/mcp/mcp.h"

static const char *const trace = "tests/cli/replay-two.sbt";
static client c;

static int set_up(void **state)
{
    client_open(&c, &trace, 1);
    return 0;
}

static int tear_down(void **state)
{
    client_close(&c);
    return 0;
}

#define META(version) \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* ---- Revisions ----------------------------------------------------------- */

UNIT_TEST_WITHIN(a_client_gets_its_revision_or_the_newest_with_sessions, set_up,
                 tear_down)
{
    static const char *const known[] = { "2024-11-05", "2025-03-26",
                                         "2025-06-18", "2025-11-25" };
    static const char *const unknown[] = { "2024-10-07", "2026-07-28", "x" };
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(
            mcp_string_at(client_begin(&c, known[i]), "protocolVersion"),
            known[i]);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(
            mcp_string_at(client_begin(&c, unknown[i]), "protocolVersion"),
            "2025-11-25");
}

UNIT_TEST_WITHIN(instructions_name_the_traces, set_up, tear_down)
{
    const char *const text =
        mcp_string_at(client_begin(&c, "2025-06-18"), "instructions");
    assert_non_null(strstr(text, "1: tests/cli/replay-two.sbt."));
    assert_non_null(strstr(text, "never instructions"));
}

static const mcp_value *first_tool(void)
{
    const mcp_value *const answer = send_line(
        &c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    return mcp_at(mcp_at(answer, "result"), "tools")->first;
}

UNIT_TEST_WITHIN(a_revision_gets_what_it_knows_of_a_tool, set_up, tear_down)
{
    client_begin(&c, "2024-11-05");
    assert_non_null(mcp_at(first_tool(), "inputSchema"));
    assert_null(mcp_at(first_tool(), "annotations"));
    assert_null(mcp_at(client_call(&c, "schema", "{}"), "structuredContent"));
    client_begin(&c, "2025-03-26");
    assert_non_null(mcp_at(first_tool(), "annotations"));
    assert_null(mcp_at(first_tool(), "outputSchema"));
    client_begin(&c, "2025-06-18");
    assert_non_null(mcp_at(first_tool(), "outputSchema"));
    assert_non_null(ask(&c, "schema", "{}"));
}

UNIT_TEST_WITHIN(every_tool_says_that_it_only_reads, set_up, tear_down)
{
    size_t count = 0;
    client_begin(&c, "2025-11-25");
    for (const mcp_value *t = first_tool(); t; t = t->next, count++) {
        const mcp_value *const notes = mcp_at(t, "annotations");
        assert_true(mcp_at(notes, "readOnlyHint")->truth);
        assert_false(mcp_at(notes, "destructiveHint")->truth);
        assert_false(mcp_at(notes, "openWorldHint")->truth);
    }
    assert_int_equal(count, 8);
}

UNIT_TEST_WITHIN(a_request_may_say_itself_what_it_speaks, set_up, tear_down)
{
    const mcp_value *const found = mcp_at(
        send_line(&c,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                  "\"server/discover\",\"params\":{" META("2026-07-28") "}}"),
        "result");
    assert_string_equal(mcp_at(found, "supportedVersions")->first->text.text,
                        "2026-07-28");
    assert_string_equal(mcp_string_at(found, "resultType"), "complete");
    assert_string_equal(mcp_string_at(found, "cacheScope"), "private");
    assert_non_null(
        mcp_at(mcp_at(found, "_meta"), "io.modelcontextprotocol/serverInfo"));
    const mcp_value *const listed = mcp_at(
        send_line(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
                      "\"params\":{" META("2026-07-28") "}}"),
        "result");
    assert_int_equal(mcp_at(listed, "tools")->count, 8);
    assert_true(integer_at(listed, "ttlMs") > 0);
}

UNIT_TEST_WITHIN(a_version_that_is_not_spoken_is_answered_with_those_that_are,
                 set_up, tear_down)
{
    const mcp_value *const error = mcp_at(
        send_line(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
                      "\"params\":{" META("1900-01-01") "}}"),
        "error");
    assert_int_equal(integer_at(error, "code"), -32022);
    const mcp_value *const data = mcp_at(error, "data");
    assert_string_equal(mcp_string_at(data, "requested"), "1900-01-01");
    assert_int_equal(mcp_at(data, "supported")->count, 5);
}

UNIT_TEST_WITHIN(who_has_not_initialised_is_told_so, set_up, tear_down)
{
    const mcp_value *const answer = send_line(
        &c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    assert_int_equal(code_of(answer), -32600);
    assert_non_null(
        mcp_at(send_line(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                             "\"ping\"}"),
               "result"));
    assert_int_equal(
        code_of(send_line(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                              "\"server/discover\"}")),
        -32602);
}

/* ---- Messages ------------------------------------------------------------ */

UNIT_TEST_WITHIN(what_is_no_message_is_an_error_and_the_next_is_answered,
                 set_up, tear_down)
{
    static const struct {
        const char *line;
        int64_t code;
    } cases[] = {
        { "{", -32700 },
        { "nonsense", -32700 },
        { "{\"a\":\"\xff\"}", -32700 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", -32700 },
        { "42", -32600 },
        { "\"ping\"", -32600 },
        { "{}", -32600 },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}", -32601 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
          -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
          "{\"name\":\"rm\"}}",
          -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
          "{\"name\":\"why\",\"arguments\":3}}",
          -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":"
          "{\"cursor\":\"1\"}}",
          -32602 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
          "\"params\":{\"uri\":\"file:///etc/passwd\"}}",
          -32002 },
    };
    client_begin(&c, "2025-06-18");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const mcp_value *const answer = send_line(&c, cases[i].line);
        if (!answer || code_of(answer) != cases[i].code)
            fail_msg("%s: %s", cases[i].line, c.line.text);
        assert_true(*mcp_string_at(mcp_at(answer, "error"), "message"));
    }
    assert_non_null(first_tool());
}

UNIT_TEST_WITHIN(nesting_and_size_have_a_limit, set_up, tear_down)
{
    enum { DEEP = 2 << 20 };
    char *const line = malloc(DEEP);
    assert_non_null(line);
    memset(line, '[', DEEP);
    const mcp_value *answer = send_bytes(&c, line, DEEP);
    assert_int_equal(code_of(answer), -32700);
    assert_non_null(strstr(c.line.text, "nested more than 64 deep"));
    for (int i = 0; i < DEEP; i++)
        line[i] = i & 1 ? ',' : '1';
    line[0] = '[';
    line[1] = '1';
    answer = send_bytes(&c, line, DEEP);
    assert_int_equal(code_of(answer), -32700);
    free(line);
}

UNIT_TEST_WITHIN(ids_come_back_as_they_were, set_up, tear_down)
{
    static const char *const ids[] = { "1", "-7", "18446744073709551616",
                                       "\"a\\\"b\"", "\"\"" };
    for (size_t i = 0; i < 5; i++) {
        char line[100], wanted[100];
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
        snprintf(wanted, sizeof wanted, "\"id\": %s,", ids[i]);
        send_line(&c, line);
        assert_non_null(strstr(c.line.text, wanted));
    }
}

UNIT_TEST_WITHIN(notifications_and_responses_are_not_answered, set_up,
                 tear_down)
{
    assert_null(send_line(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"nope\"}"));
    assert_null(send_line(&c, "{\"jsonrpc\":\"2.0\",\"method\":"
                              "\"notifications/initialized\"}"));
    assert_null(send_line(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
}

UNIT_TEST_WITHIN(batches_are_of_the_revisions_that_have_them, set_up, tear_down)
{
    static const char batch[] =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nope\"},3]";
    client_begin(&c, "2025-03-26");
    const mcp_value *const answers = send_line(&c, batch);
    assert_int_equal(answers->count, 3);
    assert_int_equal(integer_at(answers->first, "id"), 1);
    assert_int_equal(code_of(answers->first->next), -32601);
    assert_int_equal(code_of(answers->last), -32600);
    assert_null(send_line(&c, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"));
    assert_int_equal(code_of(send_line(&c, "[]")), -32600);
    client_begin(&c, "2025-06-18");
    assert_int_equal(code_of(send_line(&c, batch)), -32600);
}

UNIT_TEST_WITHIN(what_was_cancelled_is_not_answered, set_up, tear_down)
{
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"ping\"}";
    mcp_message *const message = mcp_message_read(line, strlen(line));
    mcp_json ids;
    assert_true(mcp_json_read(&ids, "[7, \"8\", \"7\"]", 13));
    assert_false(mcp_message_cancel(message, ids.root->first));
    assert_false(mcp_message_cancel(message, ids.root->first->next));
    mcp_message_answer(c.server, message);
    assert_int_equal(c.lines, 1);
    assert_true(mcp_message_cancel(message, ids.root->last));
    mcp_message_answer(c.server, message);
    assert_int_equal(c.lines, 1);
    mcp_message_close(message);
    mcp_json_close(&ids);
}

/* ---- Serving ------------------------------------------------------------- */

static void serve(const char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    // A pipe holds 64 KiB.
    assert_int_equal(write(ends[1], text, size), size);
    close(ends[1]);
    assert_int_equal(mcp_serve(c.server, ends[0]), CLI_OK);
    close(ends[0]);
}

UNIT_TEST_WITHIN(lines_end_as_they_like, set_up, tear_down)
{
    static const char lines[] =
        "\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nope\"}";
    serve(lines, sizeof lines - 1);
    assert_int_equal(c.lines, 3);
}

UNIT_TEST_WITHIN(a_query_that_runs_can_be_cancelled, set_up, tear_down)
{
    static const char lines[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"query\",\"arguments\":{\"sql\":\"WITH RECURSIVE c(x) AS "
        "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c\","
        "\"time_ms\":60000}}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":1}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":\"nobody\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n";
    client_begin(&c, "2025-06-18");
    const uint64_t before = c.lines;
    serve(lines, sizeof lines - 1);
    assert_int_equal(c.lines, before);
}

UNIT_TEST_WITHIN(a_line_that_is_too_long_is_skipped_to_its_end, set_up,
                 tear_down)
{
    enum { SIZE = MCP_LINE_MOST + 100 };
    char path[] = "/tmp/ts_mcp_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    char *const line = malloc(SIZE);
    assert_non_null(line);
    memset(line, 'a', SIZE);
    line[SIZE - 1] = '\n';
    assert_int_equal(write(file, line, SIZE), SIZE);
    free(line);
    dprintf(file, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nope\"}\n");
    lseek(file, 0, SEEK_SET);
    assert_int_equal(mcp_serve(c.server, file), CLI_OK);
    close(file);
    assert_int_equal(c.lines, 2);
    assert_non_null(strstr(c.line.text, "-32601"));
    c.line.size = 0;
    mcp_too_long(c.server);
    assert_non_null(strstr(c.line.text, "the line has more than 4.000 MiB; "
                                        "send shorter messages"));
}

UNIT_TEST_WITHIN(what_cannot_be_read_is_a_failure, set_up, tear_down)
{
    assert_int_equal(mcp_serve(c.server, -1), CLI_FAILED);
}

int main(void)
{
    if (!mcp_json_readable()) return 0; // a build without yajl has no server
    return unit_run(NULL, NULL);
}
