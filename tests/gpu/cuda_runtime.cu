// A program of CUDA's runtime as compilers make it, with launches by <<<>>>: on
// two streams, and recorded into a graph. Prints what it did as "KIND COUNT".
#include <cstdio>
#include <cstdlib>

enum { COUNT = 1024, STEPS = 10, LAUNCHES = 5 };

__global__ void scale(float *numbers, float by, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) numbers[i] *= by;
}

static void need(cudaError_t result, const char *what)
{
    if (result == cudaSuccess) return;
    std::printf("%s: error %d\n", what, (int)result);
    std::exit(1);
}
#define NEED(call) need(call, #call)

int main()
{
    float host[COUNT], *numbers;
    cudaStream_t streams[2];
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    for (int i = 0; i < COUNT; i++)
        host[i] = 1;
    NEED(cudaMalloc((void **)&numbers, sizeof host));
    for (int i = 0; i < 2; i++)
        NEED(cudaStreamCreate(&streams[i]));
    NEED(cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < STEPS; i++) {
        scale<<<COUNT / 256, 256, 0, streams[i % 2]>>>(numbers, 1, COUNT);
        NEED(cudaGetLastError());
    }
    NEED(cudaDeviceSynchronize());
    NEED(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    scale<<<COUNT / 256, 256, 0, streams[0]>>>(numbers, 2, COUNT);
    NEED(cudaStreamEndCapture(streams[0], &graph));
    NEED(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    for (int i = 0; i < LAUNCHES; i++)
        NEED(cudaGraphLaunch(ready, streams[0]));
    NEED(cudaStreamSynchronize(streams[0]));
    NEED(cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost));
    NEED(cudaFree(numbers));
    if (host[0] != 1 << LAUNCHES && !std::getenv("TS_GPU_DRY")) {
        std::printf("a number is %g\n", (double)host[0]);
        return 1;
    }
    std::printf("kernel %d\nmemcpy 2\ngpu_alloc 1\ngpu_free 1\n",
                STEPS + LAUNCHES);
    return 0;
}
