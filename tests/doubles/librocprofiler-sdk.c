// librocprofiler-sdk.c - the double of librocprofiler-sdk.so, for tests of units
#include "rocprofiler.c"
