/*
    secret.c - finds passwords and tokens in metadata

    Profilers store the environment of a program, and users share traces.
    Secrets are only reported, not removed: the trace has what its source has.
    Source of the prefixes: the token formats that GitHub, Hugging Face, Slack,
    AWS and OpenAI publish for secret scanning; RFC 7519 for "eyJ".
*/
#include "tools/import/secret.h"

enum {
    SHORTEST = 12
}; // characters of the shortest value that counts as a token

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

// Returns whether a name ends like that of a secret: HF_TOKEN, aws.secret-key.
static bool names_secret(ts_text name)
{
    static const char *const ends[] = {
        "TOKEN",  "SECRET",   "PASSWORD",   "PASSWD",      "API_KEY",
        "APIKEY", "AUTH_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SECRET_KEY"
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t size = strlen(ends[i]);
        size_t at = 0;
        if (name.size < size) continue;
        const char *const end = name.text + name.size - size;
        while (at < size && (upper(end[at]) == ends[i][at] ||
                             (end[at] == '-' && ends[i][at] == '_')))
            at++;
        if (at == size) return true;
    }
    return false;
}

static bool begins_secret(ts_text word)
{
    static const char *const begins[] = {
        "hf_",   "ghp_",  "gho_", "ghs_", "github_pat_", "glpat-",
        "xoxb-", "xoxp-", "sk-",  "AKIA", "ASIA",        "eyJ",
    };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t size = strlen(begins[i]);
        if (word.size >= size + SHORTEST && !memcmp(word.text, begins[i], size))
            return true;
    }
    return false;
}

// Returns the word at text[*at] and moves *at to the start of the next one.
static ts_text next_word(ts_text text, size_t *at)
{
    while (*at < text.size && !is_word(text.text[*at]))
        ++*at;
    ts_text word = { text.text + *at, 0 };
    while (*at < text.size && is_word(text.text[*at])) {
        ++*at;
        word.size++;
    }
    return word;
}

// Returns whether the text between two words assigns a value: in a JSON object
// or as NAME=VALUE.
static bool is_assigned(const char *from, const char *to)
{
    bool assigned = false;
    for (; from < to; from++) {
        if (!strchr("\"' \\:=", *from)) return false;
        assigned |= *from == ':' || *from == '=';
    }
    return assigned;
}

ts_text import_secret(ts_text key, ts_text text)
{
    ts_text last = { "", 0 };
    size_t at = 0;
    for (ts_text word; (word = next_word(text, &at)).size; last = word) {
        const bool whole = word.size == text.size && names_secret(key);
        if (begins_secret(word) || (whole && word.size >= SHORTEST))
            return last.size && is_assigned(last.text + last.size, word.text)
                       ? last
                       : key;
        if (last.size && word.size >= SHORTEST && names_secret(last) &&
            is_assigned(last.text + last.size, word.text))
            return last;
    }
    return (ts_text){ "", 0 };
}
