// A program as others write them: it uses NVIDIA's NVTX headers and knows
// nothing of TraceSmith. checks/capture.sh records it.
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *range)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "worker");
    nvtxRangePushA("in the worker");
    nvtxRangePop();
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    return NULL;
}

static void use_domain(nvtxDomainHandle_t domain)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 7;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xFF3366CC;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 2.5;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainNameCategoryA(domain, 7, "io");
    nvtxDomainRangePushEx(domain, &a);
}

// Every function that takes text takes wide text as well.
static void use_wide_text(void)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 3;
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = L"m\u00FC";
    nvtxNameCategoryW(3, L"kategori\u00EB");
    nvtxMarkEx(&a);
    nvtxRangePushEx(&a);
    nvtxRangePushW(L"\u00FCber");
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(nvtxRangeStartEx(&a));
    nvtxRangeEnd(nvtxRangeStartW(L"\U0001F600"));
    const nvtxDomainHandle_t domain = nvtxDomainCreateW(L"dom\u00E4n");
    nvtxDomainNameCategoryW(domain, 3, L"\u4E09");
    nvtxDomainMarkEx(domain, &a);
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &a));
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringW(domain, L"\u00E9");
    nvtxDomainMarkEx(domain, &a);
    nvtxDomainDestroy(domain);
    nvtxNameOsThreadW((uint32_t)syscall(SYS_gettid), L"h\u00E4upt");
}

static void use_lock(nvtxDomainHandle_t domain)
{
    nvtxSyncUserAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "my lock";
    const nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, &a);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}

int main(void)
{
    pthread_t thread;
    nvtxRangePushA("outer");
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    use_domain(domain);
    nvtxMarkW(L"w\u00EFde \u2713");
    nvtxRangePop(); // of another domain than the last that was pushed
    nvtxMarkA("between");
    nvtxDomainRangePop(domain);
    nvtxRangePop(); // nothing is open
    nvtxRangeId_t range = nvtxRangeStartA("spans threads");
    pthread_create(&thread, NULL, work, &range);
    pthread_join(thread, NULL);
    use_lock(domain);
    use_wide_text();
    puts("done");
    return 3;
}
