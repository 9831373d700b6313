// What hiprtc knows before it reads a source, as far as
// backends/capture/hash.cl needs it: so a compiler without AMD's headers can be
// asked.
#define __HIPCC_RTC__
#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__   __attribute__((shared))
#define threadIdx    (*shim_index)
#define blockIdx     (*shim_index)
#define blockDim     (*shim_index)
struct shim_dim {
    unsigned x;
};
extern __device__ shim_dim *shim_index;
extern "C" __device__ void shim_meet();
#define __syncthreads shim_meet
