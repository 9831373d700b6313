/*
    built_without.h - a test of what this build lacks: skipped, with the reason
*/
#ifndef BUILT_WITHOUT_H
#define BUILT_WITHOUT_H

#include <stdio.h>

// The whole main() then: BUILT_WITHOUT("SQLite")
#define BUILT_WITHOUT(library) \
    int main(void) \
    { \
        puts("built without " library); \
        return 77; \
    }

#endif // BUILT_WITHOUT_H
