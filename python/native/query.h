/*
    query.h - rows of SQL, taken without the GIL, as columns
*/
#ifndef TS_PYTHON_QUERY_H
#define TS_PYTHON_QUERY_H

#include "native.h"

typedef struct query_rows query_rows;

// NULL: an exception is set.
query_rows *query_rows_new(void);
void query_rows_free(query_rows *rows); // NULL is allowed
// What ts_sql_read hands rows to; those of the last statement are kept.
ts_sql_rows query_rows_to(query_rows *rows);
// Whether memory was missing.
bool query_rows_failed(const query_rows *rows);
// [(name, column), ...]; NULL: an exception is set.
PyObject *query_rows_columns(const query_rows *rows);

#endif // TS_PYTHON_QUERY_H
