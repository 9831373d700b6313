/*
    filter.h - the seccomp filter of the process that runs kernels of a trace
*/
#ifndef TS_TOOLS_REPLAY_EXECUTE_FILTER_H
#define TS_TOOLS_REPLAY_EXECUTE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXECUTE_FILTER_MOST = 512 };

// Writes the seccomp program and returns its number of instructions, at most
// EXECUTE_FILTER_MOST; 0: the system calls of this architecture are not known.
// self: id of the process, which may signal only itself. programs: it may start
// other programs.
uint16_t execute_filter_make(struct sock_filter *code, uint32_t self,
                             bool programs);

#endif // TS_TOOLS_REPLAY_EXECUTE_FILTER_H
