/*
    columns.h - short names for the rows of tables' descriptions

    Included by the files that list tables.
*/
#ifndef TS_TOOLS_QUERY_COLUMNS_H
#define TS_TOOLS_QUERY_COLUMNS_H

#include "tools/query/tables.h"

#define INT  QUERY_INTEGER
#define TEXT QUERY_TEXT
#define COLUMN(name, type, about) \
    { \
        name, type, 0, 0, false, about \
    }
#define KEY(name, about) \
    { \
        name, INT, 0, 0, true, about \
    }
// A table made of PREFIX_columns, PREFIX_count and PREFIX_cell.
#define TABLE(name_, prefix, joint_, about_) \
    { \
        .name = name_, .about = about_, .columns = prefix##_columns, \
        .column_count = sizeof prefix##_columns / sizeof *(prefix##_columns), \
        .joint = joint_, .count = prefix##_count, .cell = prefix##_cell \
    }

#endif // TS_TOOLS_QUERY_COLUMNS_H
