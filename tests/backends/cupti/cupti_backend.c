// The backend of CUDA, compiled once for the tests of this room and of cuda/.
#define TRACESMITH_CUPTI_IMPLEMENTATION
#include "backends/ts_cupti.h"
