# What a compiler for AMD's devices puts into a program: a bundle of code
# objects, for another device and for ours, and where it is.
    .section .hip_fatbin, "a", @progbits
    .balign 4096
    .globl __hip_fatbin
__hip_fatbin:
#ifdef PACKED // by pack.c
    .incbin PACKED
#else
    .ascii "__CLANG_OFFLOAD_BUNDLE__"
    .quad 3
    .quad other - __hip_fatbin, other_end - other, host_name_end - host_name
host_name:
    .ascii "host-x86_64-unknown-linux"
host_name_end:
    .quad other - __hip_fatbin, other_end - other, other_name_end - other_name
other_name:
    .ascii "hipv4-amdgcn-amd-amdhsa--gfx1100"
other_name_end:
    .quad ours - __hip_fatbin, ours_end - ours, ours_name_end - ours_name
ours_name:
    .ascii "hipv4-amdgcn-amd-amdhsa--gfx942"
ours_name_end:
other:
    .ascii "of another device"
other_end:
    .balign 4096
ours:
    .incbin CODE_OBJECT
ours_end:
#endif
    .section .hipFatBinSegment, "aw", @progbits
    .balign 8
    .globl __hip_fatbin_wrapper
__hip_fatbin_wrapper:
    .long 0x48495046, 1
    .quad __hip_fatbin, 0
    .section .note.GNU-stack, "", @progbits
