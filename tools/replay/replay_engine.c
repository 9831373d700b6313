/*
    replay_engine.c - the engine, until it is in tracesmith_replay.h
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/replay/replay.h"
#ifdef TS_REPLAY_APART
#include "src/60-replay-impl.h"
#endif
