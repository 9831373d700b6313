/*
    replay_engine.c - the engine, until it is in tracesmith_replay.h
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tracesmith_replay.h"
#ifndef TS_EDGES
#include "src/60-replay-api.h"
#include "src/60-replay-impl.h"
#endif
