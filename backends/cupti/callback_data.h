/*
    cupti/callback_data.h - what CUPTI's callbacks pass

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Source: cupti_callbacks.h and cupti_driver_cbid.h of CUDA 11.0 to 13.0
    (CUpti_CallbackData, CUpti_ResourceData, CUpti_CallbackDomain).
*/
#ifndef TS__CUPTI_CALLBACK_DATA_H
#define TS__CUPTI_CALLBACK_DATA_H

#include <stdint.h>

enum { // CUpti_CallbackDomain
    TS__CU_DRIVER = 1,
    TS__CU_RUNTIME = 2,
    TS__CU_RESOURCE = 3,
    TS__CU_STATE = 6
};

typedef struct ts__cu_call_data { // CUpti_CallbackData
    int32_t site;                 // CUpti_ApiCallbackSite: 0 entry, 1 exit
    const char *name;
    const void *parameters;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *user;
    uint32_t correlation;
} ts__cu_call_data;

typedef struct ts__cu_resource { // CUpti_ResourceData
    void *context, *handle, *more;
} ts__cu_resource;

enum { // CUpti_CallbackIdResource, CUpti_CallbackIdState
    TS__CU_CONTEXT_LEFT = 2,
    TS__CU_MODULE_LOADED = 6,
    TS__CU_MODULE_UNLOADED = 7,
    TS__CU_NODE_CREATED = 13,
    TS__CU_NODE_CLONED = 20,
    TS__CU_FATAL_ERROR = 1
};

#endif // TS__CUPTI_CALLBACK_DATA_H
