/*
    words.c - the words of --with-args, and of the tool's command
*/
#include "tools/record/with/with.h"

static void add(with_words *words, const char *word, size_t size)
{
    char *const copy = malloc(size + 1);
    if (copy && cli_grow(&words->items, &words->room, words->count + 2,
                         sizeof *words->items)) {
        memcpy(copy, word, size);
        copy[size] = 0;
        words->items[words->count++] = copy;
        words->items[words->count] = NULL;
        return;
    }
    free(copy);
    words->failed = true;
}

void with_word_add(with_words *words, const char *word)
{
    add(words, word, strlen(word));
}

// Copies a word without its quotes; *text is then behind it. False if a quote
// has no end.
static bool take(char *word, size_t *size, const char **text)
{
    char quote = 0;
    *size = 0;
    for (; **text && (quote || !strchr(" \t\n", **text)); ++*text) {
        const char c = **text;
        if (c == quote)
            quote = 0;
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        else if (c == '\\' && quote != '\'' && (*text)[1] == '\n')
            ++*text;
        else if (c == '\\' && quote != '\'' && (*text)[1])
            word[(*size)++] = *++*text;
        else
            word[(*size)++] = c;
    }
    return !quote;
}

static const char *skip_blanks(const char *text)
{
    while (*text && (strchr(" \t\n", *text) || !strncmp(text, "\\\n", 2)))
        text++;
    return text;
}

bool with_words_split(with_words *words, const char *text)
{
    char *const word = malloc(strlen(text) + 1);
    bool done = true;
    words->failed = !word;
    while (word && done) {
        size_t size;
        text = skip_blanks(text);
        if (!*text) break;
        done = take(word, &size, &text);
        if (done) add(words, word, size);
    }
    free(word);
    return done;
}

bool with_words_have(const with_words *words, const char *const *list)
{
    for (size_t i = 0; i < words->count; i++)
        for (const char *const *known = list; *known; known++) {
            const size_t size = strlen(*known);
            const char *const word = words->items[i];
            if (!strncmp(word, *known, size) &&
                (!word[size] || word[size] == '='))
                return true;
        }
    return false;
}

void with_words_free(with_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    memset(words, 0, sizeof *words);
}
