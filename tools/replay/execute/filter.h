/*
    filter.h - the seccomp filter of the process that runs kernels of a trace
*/
#ifndef TS_TOOLS_REPLAY_EXECUTE_FILTER_H
#define TS_TOOLS_REPLAY_EXECUTE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXECUTE_FILTER_MOST = 512 };

typedef enum execute_calls { // what a driver needs beyond the rest
    EXECUTE_PROGRAMS = 1,    // to start other programs
    EXECUTE_SOCKETS = 2      // local sockets that reach no other process
} execute_calls;

// Writes the seccomp program and returns its number of instructions, at most
// EXECUTE_FILTER_MOST; 0: the system calls of this architecture are not known.
// self: id of the process, which may signal only itself. more: EXECUTE_...
uint16_t execute_filter_make(struct sock_filter *code, uint32_t self,
                             uint32_t more);

#endif // TS_TOOLS_REPLAY_EXECUTE_FILTER_H
