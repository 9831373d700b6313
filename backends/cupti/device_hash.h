/*
    cupti/device_hash.h - the kernel that hashes on CUDA devices, as PTX

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUPTI_DEVICE_HASH_H
#define TS__CUPTI_DEVICE_HASH_H

#include "../gpu/device_hash.h"
#include "../gpu/driver.h"
#include "hash_ptx.h"

#include <stddef.h>

// Implements `hash_code` of ts__cs_vendor.
static char *ts__cs_hash_code(ts__cs_own *own)
{
    const size_t one = sizeof *ts__cuda_hash_text;
    (void)own;
    return ts__cs_text_of(ts__cuda_hash_text, sizeof ts__cuda_hash_text / one);
}

#endif // TS__CUPTI_DEVICE_HASH_H
