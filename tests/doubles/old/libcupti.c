// libcupti.so of CUDA 11.0: later functions are missing.
#define DOUBLE_OLD
#include "../libcupti.c"
