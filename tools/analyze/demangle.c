/*
    demangle.c - names of C++ and Rust functions as they were written

    What reads C++ names is the C++ library of the machine, if there is one:
    nothing else keeps up with all that compilers write. But a short name may
    stand for a text that doubles with every few letters, and the library has
    no limit. So it works in a process of its own, which may take a second and
    little memory; a name that kills it stays as it was recorded.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/analyze/demangle.h"
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MANGLED_MOST = 16384,
    TEXT_MOST = 65536,
    HELPERS_MOST = 4, // processes, one after another
    HELPER_SECONDS = 1,
    HELPER_BYTES = 256 << 20
};

// Source: Itanium C++ ABI, 3.4 "Demangler API".
typedef char *demangle_function(const char *mangled, char *buffer, size_t *size,
                                int *status);

static demangle_function *find(void)
{
    static demangle_function *found;
    static bool tried;
    if (tried) return found;
    tried = true;
    void *const library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return NULL;
    void *const symbol = dlsym(library, "__cxa_demangle");
    // A function is no object, which is all that dlsym knows.
    memcpy(&found, &symbol, sizeof found);
    return found;
}

bool demangle_works(void)
{
    return find() != NULL;
}

/* ---- The process that reads names ---------------------------------------- */

static struct {
    pid_t process; // 0: there is none
    int line;
    unsigned begun;
} helper;

static bool put_all(int line, const void *bytes, size_t size)
{
    for (const char *at = bytes; size;) {
        const ssize_t sent = send(line, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool get_all(int line, void *bytes, size_t size)
{
    for (char *at = bytes; size;) {
        const ssize_t got = recv(line, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

// Answers a size and a name by a size and a text; 0: it cannot be read.
static void help(int line, demangle_function *call)
{
    static char name[MANGLED_MOST + 1];
    const struct rlimit seconds = { HELPER_SECONDS, HELPER_SECONDS };
    const struct rlimit bytes = { HELPER_BYTES, HELPER_BYTES };
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_DATA, &bytes);
    setrlimit(RLIMIT_CORE, &none);
    for (uint32_t size; get_all(line, &size, sizeof size);) {
        int status = -1;
        if (size > MANGLED_MOST || !get_all(line, name, size)) return;
        name[size] = 0;
        char *const text = call(name, NULL, NULL, &status);
        const size_t got = text && !status ? strlen(text) : 0;
        size = got > TEXT_MOST ? 0 : (uint32_t)got;
        if (!put_all(line, &size, sizeof size) ||
            !put_all(line, text ? text : "", size))
            return;
        free(text);
    }
}

static void end_helper(void)
{
    close(helper.line);
    while (waitpid(helper.process, NULL, 0) < 0 && errno == EINTR) {}
    helper.process = 0;
}

static bool begin_helper(demangle_function *call)
{
    int lines[2];
    if (helper.process) return true;
    if (helper.begun == HELPERS_MOST ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines))
        return false;
    helper.begun++;
    helper.line = lines[0];
    helper.process = fork();
    if (!helper.process) {
        close(lines[0]);
        help(lines[1], call);
        _exit(0);
    }
    close(lines[1]);
    if (helper.process > 0) return true;
    close(lines[0]);
    helper.process = 0;
    return false;
}

void demangle_end(void)
{
    if (helper.process) end_helper();
}

static char *ask(demangle_function *call, const char *name, uint32_t size)
{
    uint32_t got = 0;
    char *text = NULL;
    if (!begin_helper(call)) return NULL;
    const bool answered = put_all(helper.line, &size, sizeof size) &&
                          put_all(helper.line, name, size) &&
                          get_all(helper.line, &got, sizeof got);
    if (answered && got && got <= TEXT_MOST) text = calloc(1, (size_t)got + 1);
    if (text && !get_all(helper.line, text, got)) {
        free(text);
        text = NULL;
    }
    // Without memory for it a text is still on the line.
    if (!answered || (got && !text)) end_helper();
    return text;
}

/* ---- Rust ---------------------------------------------------------------- */

static bool is_hash(const char *text)
{
    return !strncmp(text, "::h", 3) &&
           strspn(text + 3, "0123456789abcdef") == 16 && !text[19];
}

// Source: rustc, "legacy symbol mangling": a name of C++ that ends with a
// hash, in which $..$ stand for what C++ does not allow.
static void clean_rust(char *text)
{
    static const struct {
        const char *from, *to;
    } words[] = {
        { "$LT$", "<" },  { "$GT$", ">" },   { "$RF$", "&" },  { "$BP$", "*" },
        { "$LP$", "(" },  { "$RP$", ")" },   { "$C$", "," },   { "$SP$", "@" },
        { "$u20$", " " }, { "$u7b$", "{" },  { "$u7d$", "}" }, { "..", "::" },
        { "$u5b$", "[" }, { "$u5d$", "]" },  { "$u27$", "'" }, { "$u3b$", ";" },
        { "$u2b$", "+" }, { "$u22$", "\"" },
    };
    char *to = text;
    const size_t size = strlen(text);
    if (size < 19 || !is_hash(text + size - 19)) return;
    text[size - 19] = 0;
    for (const char *at = text; *at;) {
        size_t i = 0;
        while (i < sizeof words / sizeof *words &&
               strncmp(at, words[i].from, strlen(words[i].from)) != 0)
            i++;
        if (i == sizeof words / sizeof *words) {
            // "_$LT$" at the start of a part hides the sign from C++.
            if (*at == '_' && at[1] == '$' && (at == text || at[-1] == ':'))
                at++;
            else
                *to++ = *at++;
            continue;
        }
        at += strlen(words[i].from);
        for (const char *c = words[i].to; *c; c++)
            *to++ = *c;
    }
    *to = 0;
}

char *demangle(const char *name, size_t size)
{
    demangle_function *const call = find();
    if (size < 4 || size > MANGLED_MOST || memcmp(name, "_Z", 2) != 0 ||
        memchr(name, 0, size) || !call)
        return NULL;
    char *const text = ask(call, name, (uint32_t)size);
    if (text) clean_rust(text);
    return text;
}

/* ---- Templates ----------------------------------------------------------- */

static bool starts(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

// The bytes of a bracket and all up to the one that closes it; 0: none does.
static size_t bracket_size(const char *text, size_t size, char open, char close)
{
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) {
        const bool arrow = text[i] == '>' && i && text[i - 1] == '-';
        if (text[i] == open) depth++;
        if (text[i] == close && !arrow && !--depth) return i + 1;
    }
    return 0;
}

// Where "operator<" and its like end: their signs are no brackets.
static size_t operator_size(const char *text, size_t size)
{
    if (!starts(text, size, "operator")) return 0;
    size_t i = 8;
    if (starts(text + i, size - i, "()")) return i + 2;
    while (i < size && strchr("<>=-+*/%&|^!~[],", text[i]))
        i++;
    return i;
}

char *demangle_collapse(const char *name, size_t size)
{
    // At worst every "<" becomes "<...>".
    char *const text = malloc(size * 5 + 1);
    char *to = text;
    if (!text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        size_t step = operator_size(name, size);
        if (step) {
            memcpy(to, name, step);
            to += step;
        } else if (*name == '<' &&
                   (step = bracket_size(name, size, '<', '>')) != 0) {
            memcpy(to, "<...>", 5);
            to += 5;
        } else if (starts(name, size, "(anonymous namespace)")) {
            step = 21;
            memcpy(to, name, step);
            to += step;
        } else if (*name == '(' && to > text &&
                   (step = bracket_size(name, size, '(', ')')) != 0) {
            // Parameters are left out, and what may follow: " const".
            const char *const rest = name + step;
            if (starts(rest, size - step, " const")) step += 6;
        } else {
            step = 1;
            *to++ = *name;
        }
        name += step;
        size -= step;
    }
    *to = 0;
    return text;
}

/* ---- Brief names --------------------------------------------------------- */

enum { DEPTH_MOST = 64 };

typedef struct brief {
    char *text;
    size_t size;
    size_t paths[DEPTH_MOST]; // where in the text a path of names began
    size_t depth;             // of brackets
} brief;

static void put(brief *b, const char *name, size_t step)
{
    memcpy(b->text + b->size, name, step);
    b->size += step;
    if (step > 1) return;
    if (strchr("<({[", *name) && b->depth + 1 < DEPTH_MOST)
        b->paths[++b->depth] = b->size;
    else if (strchr(">)}]", *name) && b->depth)
        b->depth--;
    else if (strchr(" ,&*", *name))
        b->paths[b->depth] = b->size;
}

// Of "f()::{lambda}" and "f::operator()" all is needed.
static bool is_path(const char *name, size_t size)
{
    return starts(name, size, "::") && !starts(name, size, "::operator") &&
           !starts(name, size, "::{");
}

char *demangle_brief(const char *name, size_t size)
{
    brief b = { .text = malloc(size + 1) };
    if (!b.text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        size_t step = operator_size(name, size);
        if (starts(name, size, "(anonymous namespace)")) step = 21;
        if (is_path(name, size)) {
            b.size = b.paths[b.depth];
            step = 2;
        } else if (step || *name != '(' || b.depth || !b.size ||
                   b.text[b.size - 1] == ' ' ||
                   !(step = bracket_size(name, size, '(', ')'))) {
            put(&b, name, step ? step : 1);
            step = step ? step : 1;
        }
        name += step;
        size -= step;
    }
    b.text[b.size] = 0;
    return b.text;
}
