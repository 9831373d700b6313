/*
    cuda_driver.h - the calls of CUDA's driver that CALLS lists, loaded when the
    program runs; for the programs beside it
*/
#define X(name, parameters) static int(*name) parameters;
CALLS(X)
#undef X

static int load(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol;
    if (!library) {
        puts("no GPU: libcuda.so.1 is not there");
        return 0;
    }
#define X(name, parameters) \
    symbol = dlsym(library, #name); \
    if (!symbol) { \
        puts("no GPU: libcuda.so.1 has no " #name); \
        return 0; \
    } \
    memcpy(&name, &symbol, sizeof name);
    CALLS(X)
#undef X
    return 1;
}

static void need(int result, const char *what)
{
    if (!result) return;
    printf("%s: error %d\n", what, result);
    exit(1);
}
#define NEED(call) need(call, #call)
