// Kernels as text, for the programs beside it: what several of them launch.
#define PTX_BEGIN ".version 6.0\n.target sm_50\n.address_size 64\n"

// %r4: the number of a thread; %rd4: that of its number in bytes.
#define PTX_INDEX \
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n" \
    "    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r4, %r2, %r3, %r4;\n" \
    "    mul.wide.u32 %rd4, %r4, 4;\n"

// numbers[i] += value
#define PTX_ADD \
    ".visible .entry add(.param .u64 add_p, .param .u32 add_v)\n{\n" \
    "    .reg .u32 %r<8>;\n    .reg .u64 %rd<8>;\n" \
    "    ld.param.u64 %rd1, [add_p];\n    ld.param.u32 %r1, [add_v];\n" \
    "    cvta.to.global.u64 %rd1, %rd1;\n" PTX_INDEX \
    "    add.u64 %rd1, %rd1, %rd4;\n    ld.global.u32 %r5, [%rd1];\n" \
    "    add.u32 %r5, %r5, %r1;\n    st.global.u32 [%rd1], %r5;\n" \
    "    ret;\n}\n"

// to[i] = from[i] + value + bias
#define PTX_BIASED \
    ".visible .global .align 4 .u32 bias = 3;\n" \
    ".visible .entry biased(.param .u64 b_to, .param .u64 b_from, " \
    ".param .u32 b_v)\n{\n" \
    "    .reg .u32 %r<8>;\n    .reg .u64 %rd<8>;\n" \
    "    ld.param.u64 %rd1, [b_to];\n    ld.param.u64 %rd2, [b_from];\n" \
    "    ld.param.u32 %r1, [b_v];\n" \
    "    cvta.to.global.u64 %rd1, %rd1;\n" \
    "    cvta.to.global.u64 %rd2, %rd2;\n" \
    "    ld.global.u32 %r6, [bias];\n    add.u32 %r1, %r1, %r6;\n" PTX_INDEX \
    "    add.u64 %rd1, %rd1, %rd4;\n    add.u64 %rd2, %rd2, %rd4;\n" \
    "    ld.global.u32 %r5, [%rd2];\n    add.u32 %r5, %r5, %r1;\n" \
    "    st.global.u32 [%rd1], %r5;\n    ret;\n}\n"
