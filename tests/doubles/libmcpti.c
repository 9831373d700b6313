// MetaX's libmcpti.so: CUPTI under other names, with records of CUDA 9.
#define DOUBLE_PREFIX  mcpti
#define DOUBLE_VERSION 12
#define RUNTIME        "mc"
#define DRIVER         "mc"
#include "libcupti.c"
