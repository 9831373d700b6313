// libamdhip64.c - the double of libamdhip64.so, for tests of units
#include "amdhip64.c"
