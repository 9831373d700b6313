/*
    regex.c - regular expressions over names
*/
#include "tools/cli/cli.h"

bool cli_regex_open(regex_t *regex, const char *text, size_t size,
                    cli_text *why)
{
    char *const copy = strndup(text, size);
    const int wrong =
        copy ? regcomp(regex, copy, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
    free(copy);
    if (wrong) regerror(wrong, copy ? regex : NULL, why->s, sizeof why->s);
    return !wrong;
}

// A name is matched up to its first zero byte.
bool cli_regex_matches(const regex_t *regex, ts_text name)
{
    char *const copy = strndup(name.text, name.size);
    bool yes = copy && !regexec(regex, copy, 0, NULL, 0);
    char *const read = copy && !yes ? cli_demangle(copy) : NULL;
    if (read) yes = !regexec(regex, read, 0, NULL, 0);
    free(read);
    free(copy);
    return yes;
}
