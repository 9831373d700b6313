/*
    stack/machine.h - whether stacks of this machine are followed by tables

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_MACHINE_H
#define TS__STACK_MACHINE_H

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    defined(__LP64__) && !defined(TRACESMITH_LIBUNWIND)
#define TS__STACK_MACHINE
#endif

// Frames of other functions are read including the red zones that sanitizers
// place between variables.
#ifdef __clang__
#define TS__STACK_PLAIN \
    __attribute__((no_sanitize("address", "thread", "undefined", "memory")))
#else
#define TS__STACK_PLAIN \
    __attribute__((no_sanitize_address, no_sanitize_thread, \
                   no_sanitize_undefined))
#endif

#endif // TS__STACK_MACHINE_H
