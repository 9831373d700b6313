/*
    ts-mcp.c - answers questions about traces, as a server of the Model Context
    Protocol
*/
#include "tools/mcp/mcp.h"
#include <unistd.h>

static const cli_option options[] = { { 0 } };

static const cli_tool tool = {
    .name = "ts-mcp",
    .usage = "FILE...",
    .about = "Answers questions about traces on standard input and output, for "
             "assistants and\nother programs that speak the Model Context "
             "Protocol: what takes the time, why a\ndevice was idle, why an "
             "operation began when it did, what a change would gain,\nwhat "
             "differs between two runs, SQL. It only reads.",
    .options = options,
};

static void put_line(void *user, const char *line, size_t size)
{
    (void)user;
    fwrite(line, 1, size, stdout);
    putc('\n', stdout);
    fflush(stdout);
}

static bool check_usage(char **paths, int count)
{
    const char *wrong = NULL;
    if (!count) wrong = "a trace to read is required";
    if (count > 4096) wrong = "there are more than 4,096 traces";
    for (int i = 0; i < count; i++)
        if (!strcmp(paths[i], "-"))
            wrong = "standard input has the messages; name the trace's file";
    if (wrong) cli_error(&tool, NULL, "%s", wrong);
    return !wrong;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (!check_usage(argv + 1, argc - 1)) return cli_usage(&tool);
    mcp_server *const server = mcp_open(&tool, (const char *const *)argv + 1,
                                        (size_t)argc - 1, put_line, NULL);
    if (!server) return CLI_FAILED;
    const int code = mcp_serve(server, STDIN_FILENO);
    mcp_close(server);
    return cli_finish(&tool, code);
}
