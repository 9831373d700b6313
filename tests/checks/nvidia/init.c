// Begins NVIDIA's driver, as a program does that would use a GPU, and prints
// what it answers.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *const symbol = library ? dlsym(library, "cuInit") : NULL;
    int (*begin)(unsigned);
    if (!symbol) {
        printf("%s\n", dlerror());
        return 1;
    }
    memcpy(&begin, &symbol, sizeof begin);
    printf("cuInit %d\n", begin(0));
    return 0;
}
