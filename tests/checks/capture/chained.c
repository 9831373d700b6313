// A handler of somebody else's, which CUDA_INJECTION64_PATH named before.
#include <stdio.h>

int InitializeInjection(void);
int InitializeInjection(void)
{
    puts("the other handler");
    return 1;
}
