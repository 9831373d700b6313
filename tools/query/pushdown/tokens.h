/*
    tokens.h - the tokens of an SQL statement
*/
#ifndef TS_TOOLS_QUERY_PUSHDOWN_TOKENS_H
#define TS_TOOLS_QUERY_PUSHDOWN_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sql_type {
    SQL_END,
    SQL_WORD,   // a keyword or name; quoted names are names
    SQL_QUOTED, // "name", [name] or `name`
    SQL_STRING,
    SQL_NUMBER,
    SQL_VALUE, // ?, :name, @name, $name
    SQL_SIGN   // operator or punctuation
} sql_type;

typedef struct sql_token {
    const char *text;
    uint32_t size;
    sql_type type;
    uint32_t depth; // of parentheses and CASE around it
} sql_token;

// Splits a statement, without comments, up to its end or a semicolon. Returns
// the tokens, to be freed, the last one SQL_END; NULL: no memory, or text that
// is no token.
sql_token *sql_tokens(const char *sql, size_t *count);

// Returns whether a token is this keyword or sign.
bool sql_is(const sql_token *token, const char *text);
// Returns whether a token is a name that equals `name`, as SQL compares names.
bool sql_names(const sql_token *token, const char *name);

#endif // TS_TOOLS_QUERY_PUSHDOWN_TOKENS_H
