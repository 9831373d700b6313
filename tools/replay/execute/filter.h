/*
    filter.h - which system calls kernels of a trace may not make
*/
#ifndef TS_TOOLS_REPLAY_EXECUTE_FILTER_H
#define TS_TOOLS_REPLAY_EXECUTE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXECUTE_FILTER_MOST = 512 };

// Writes the program for seccomp, of at most EXECUTE_FILTER_MOST instructions,
// and returns how many these are; 0: this processor's calls are not known.
// self: the process, which may signal itself. programs: it may start others.
uint16_t execute_filter_make(struct sock_filter *code, uint32_t self,
                             bool programs);

#endif // TS_TOOLS_REPLAY_EXECUTE_FILTER_H
