/*
    cli_demangle.c - names of C++ as people read them
*/
#include "tools/ts_cli.h"
#include <dlfcn.h>
#include <pthread.h>

// Longer ones are left alone: what comes of them may be longer by far.
enum { MANGLED_MOST = 4096 };

// Source: Itanium C++ ABI, section 3.4.
typedef char *demangler(const char *mangled, char *out, size_t *size,
                        int *status);
static demangler *demangle;

// The C++ library of the machine, if there is one; it stays.
static void find_demangler(void)
{
    static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1",
                                             "libc++abi.dylib" };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *const library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *const found = library ? dlsym(library, "__cxa_demangle") : NULL;
        if (!found) continue;
        memcpy(&demangle, &found, sizeof demangle);
        return;
    }
}

char *cli_demangle(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "__Z", 3) != 0)
        return NULL;
    if (strlen(name) > MANGLED_MOST) return NULL;
    pthread_once(&once, find_demangler);
    int status = 0;
    return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

/* ---- Short names -------------------------------------------------------- */

// The end of what a bracket opens, or the text's.
static size_t behind(const char *text, size_t at, size_t size)
{
    size_t depth = 0;
    for (; at < size; at++) {
        if (text[at] == '<' || text[at] == '(') depth++;
        const bool arrow = text[at] == '>' && at && text[at - 1] == '-';
        if ((text[at] == '>' || text[at] == ')') && !arrow && !--depth)
            return at + 1;
    }
    return size;
}

ts_text cli_short_name(ts_text name)
{
    size_t first = 0, at = 0, end = 0;
    while (at < name.size) {
        const char c = name.text[at];
        const bool open = c == '(' || c == '<';
        const size_t next = open ? behind(name.text, at, name.size) : at + 1;
        const bool scoped = next + 1 < name.size && name.text[next] == ':' &&
                            name.text[next + 1] == ':';
        if (open && !scoped && at == first) return name; // no function
        if (open && !scoped) {
            if (!end) end = at;
            if (c == '(') break;
        }
        if (c == ' ' || c == ':') {
            first = next;
            end = 0;
        }
        at = next;
    }
    if (!end) end = name.size;
    if (first >= end) return name;
    return (ts_text){ name.text + first, end - first };
}
