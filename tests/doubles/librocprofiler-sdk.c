// librocprofiler-sdk.c - the double of librocprofiler-sdk.so, for unit tests
#include "rocprofiler.c"
