/*
    units.c - units of weights and counters, by their names in other tools
*/
#include "tools/cli/cli.h"

static const struct {
    const char *name;
    cli_unit unit;
} units[] = {
    { "ns", { CLI_TIME, 1 } },        { "nanoseconds", { CLI_TIME, 1 } },
    { "us", { CLI_TIME, 1e3 } },      { "microseconds", { CLI_TIME, 1e3 } },
    { "ms", { CLI_TIME, 1e6 } },      { "milliseconds", { CLI_TIME, 1e6 } },
    { "s", { CLI_TIME, 1e9 } },       { "seconds", { CLI_TIME, 1e9 } },
    { "B", { CLI_SIZE, 1 } },         { "bytes", { CLI_SIZE, 1 } },
    { "KiB", { CLI_SIZE, 1024 } },    { "kilobytes", { CLI_SIZE, 1024 } },
    { "MiB", { CLI_SIZE, 1048576 } }, { "megabytes", { CLI_SIZE, 1048576 } },
};

cli_unit cli_unit_of(ts_text name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == name.size &&
            !memcmp(units[i].name, name.text, name.size))
            return units[i].unit;
    return (cli_unit){ CLI_NUMBER, 1 };
}

bool cli_samples_lead(cli_samples later, cli_samples earlier)
{
    if (later.are_times != earlier.are_times) return later.are_times;
    return later.are_times ? later.total > earlier.total
                           : later.count >= earlier.count;
}
