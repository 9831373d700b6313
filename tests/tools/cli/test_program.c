// How a program is found in PATH: as execvp finds it.
#define _XOPEN_SOURCE 700
#include "tests/unit.h"
#include "tools/cli/cli.h"
#include <sys/stat.h>

// The folders one and two, and the working folder.
static const struct {
    const char *path;
    mode_t mode;
} files[] = {
    { "one/prog", 0600 }, { "one/text", 0600 }, { "two/prog", 0700 },
    { "two/here", 0700 }, { "here", 0700 },
};
enum { FILES = sizeof files / sizeof *files };
static char folder[] = "/tmp/test_program-XXXXXX";

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    if (mkdir("one", 0700) || mkdir("two", 0700)) return -1;
    for (size_t i = 0; i < FILES; i++) {
        FILE *const file = fopen(files[i].path, "w");
        if (!file || fclose(file)) return -1;
        if (chmod(files[i].path, files[i].mode)) return -1;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++)
        unlink(files[i].path);
    return rmdir("one") || rmdir("two") || chdir("/") || rmdir(folder);
}

// Returns the path that a name has with a PATH; NULL: it is not found.
static const char *find(const char *list, const char *name)
{
    static char path[256];
    if (list) setenv("PATH", list, 1);
    if (!list) unsetenv("PATH");
    return cli_program_find(name, path, sizeof path) ? path : NULL;
}

UNIT_TEST(a_file_that_cannot_be_executed_hides_no_program)
{
    assert_string_equal("two/prog", find("one:two", "prog"));
    assert_string_equal("two/prog", find("none:one:two", "prog"));
}

// The message about it says more than that there is none.
UNIT_TEST(a_file_that_cannot_be_executed_is_better_than_none)
{
    assert_string_equal("one/prog", find("one", "prog"));
    assert_string_equal("one/text", find("two:one", "text"));
    assert_null(find("one:two", "nothing"));
    assert_null(find(".", "one"));
}

UNIT_TEST(an_empty_folder_is_the_working_one)
{
    assert_string_equal("./here", find("", "here"));
    assert_string_equal("./here", find(":two", "here"));
    assert_string_equal("two/here", find("two:", "here"));
    assert_string_equal("./here", find("one::two", "here"));
    assert_string_equal("./here", find("one:", "here"));
}

UNIT_TEST(without_a_path_there_are_the_usual_folders)
{
    assert_string_equal("/bin/sh", find(NULL, "sh"));
    assert_null(find(NULL, "here"));
}

UNIT_TEST(a_name_with_a_slash_is_a_path)
{
    assert_string_equal("one/prog", find("two", "one/prog"));
}

UNIT_TEST(a_path_that_does_not_fit_is_passed_over)
{
    char list[400];
    memset(list, 'x', sizeof list);
    memcpy(list + sizeof list - 5, ":two", 5);
    assert_string_equal("two/here", find(list, "here"));
}

int main(void)
{
    return unit_run(begin, end);
}
