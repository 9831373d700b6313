/*
    tokens.c - the tokens of an SQL statement

    Source: tokenize.c's documentation, https://sqlite.org/lang_keywords.html
    and https://sqlite.org/lang_expr.html (literals, operators).
*/
#include "tools/query/pushdown/tokens.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c & 0x80;
}

// Returns the first character after white space and comments.
static const char *skip(const char *at)
{
    for (;;) {
        if (*at && strchr(" \t\n\f\r", *at)) {
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *const end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

// Returns the end of what a quote begins, which may hold doubled ones; NULL: it
// has none.
static const char *quoted_end(const char *at)
{
    const char close = *at == '[' ? ']' : *at;
    for (at++; *at; at++) {
        if (*at != close) continue;
        if (close == ']' || at[1] != close) return at + 1;
        at++;
    }
    return NULL;
}

static const char *number_end(const char *at)
{
    if (at[0] == '0' && (at[1] | 32) == 'x') {
        for (at += 2; isxdigit((unsigned char)*at);)
            at++;
        return at;
    }
    while (isdigit((unsigned char)*at) || *at == '.')
        at++;
    if ((*at | 32) == 'e') {
        const char *more = at + 1 + (at[1] == '+' || at[1] == '-');
        for (; isdigit((unsigned char)*more); more++)
            at = more + 1;
    }
    return at;
}

static const char *sign_end(const char *at)
{
    static const char *const two[] = { "<>", "<=", ">=", "==",
                                       "!=", "||", "<<", ">>" };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (!strncmp(at, two[i], 2)) return at + 2;
    return strchr("()+-*/%&|~<>=,.", *at) ? at + 1 : NULL;
}

// Sets the type of the token at `at` and returns its end; NULL: it is none.
static const char *token_end(const char *at, sql_type *type)
{
    const char *end = at;
    if ((at[0] | 32) == 'x' && at[1] == '\'') return NULL; // a BLOB
    if (*at == '\'' || *at == '"' || *at == '[' || *at == '`') {
        *type = *at == '\'' ? SQL_STRING : SQL_QUOTED;
        return quoted_end(at);
    }
    if (isdigit((unsigned char)*at) ||
        (*at == '.' && isdigit((unsigned char)at[1]))) {
        *type = SQL_NUMBER;
        end = number_end(at);
        return in_word(*end) ? NULL : end;
    }
    if (strchr("?:@$#", *at)) {
        *type = SQL_VALUE;
        for (end++; in_word(*end);)
            end++;
        return end;
    }
    if (in_word(*at)) {
        *type = SQL_WORD;
        while (in_word(*end))
            end++;
        return end;
    }
    *type = SQL_SIGN;
    return sign_end(at);
}

bool sql_is(const sql_token *token, const char *text)
{
    const size_t size = strlen(text);
    return (token->type == SQL_WORD || token->type == SQL_SIGN) &&
           token->size == size && !strncasecmp(token->text, text, size);
}

bool sql_names(const sql_token *token, const char *name)
{
    const size_t size = strlen(name);
    const uint32_t quotes = token->type == SQL_QUOTED;
    return (token->type == SQL_WORD || quotes) &&
           token->size == size + 2 * quotes &&
           !strncasecmp(token->text + quotes, name, size);
}

sql_token *sql_tokens(const char *sql, size_t *count)
{
    sql_token *const tokens = calloc(strlen(sql) + 1, sizeof *tokens);
    uint32_t depth = 0;
    *count = 0;
    for (const char *at = skip(sql); tokens; at = skip(at)) {
        sql_token *const token = &tokens[*count];
        token->text = at;
        if (!*at || *at == ';') return tokens;
        const char *const end = token_end(at, &token->type);
        if (!end) break;
        token->size = (uint32_t)(end - at);
        const bool closes = sql_is(token, ")") || sql_is(token, "end");
        if (closes && !depth) break;
        depth -= closes;
        token->depth = depth;
        depth += sql_is(token, "(") || sql_is(token, "case");
        (*count)++;
        at = end;
    }
    free(tokens);
    return NULL;
}
