; Tables that stand before the variables that they refer to, in the address space that CUDA's have and in the
; generic one, which Rust's have.
target triple = "nvptx64-nvidia-cuda"

@device_to_device = addrspace(1) constant [8 x ptr addrspace(1)] [ptr addrspace(1) @device7, ptr addrspace(1) @device6, ptr addrspace(1) @device5, ptr addrspace(1) @device4, ptr addrspace(1) @device3, ptr addrspace(1) @device2, ptr addrspace(1) @device1, ptr addrspace(1) @device0], align 64
@device_to_generic = addrspace(1) constant [8 x ptr] [ptr @generic7, ptr @generic6, ptr @generic5, ptr @generic4, ptr @generic3, ptr @generic2, ptr @generic1, ptr @generic0], align 64
@generic_to_device = constant [8 x ptr addrspace(1)] [ptr addrspace(1) @device7, ptr addrspace(1) @device6, ptr addrspace(1) @device5, ptr addrspace(1) @device4, ptr addrspace(1) @device3, ptr addrspace(1) @device2, ptr addrspace(1) @device1, ptr addrspace(1) @device0], align 64
@generic_to_generic = constant [8 x ptr] [ptr @generic7, ptr @generic6, ptr @generic5, ptr @generic4, ptr @generic3, ptr @generic2, ptr @generic1, ptr @generic0], align 64

@device0 = addrspace(1) global i32 0, align 4
@device1 = addrspace(1) global i32 1, align 4
@device2 = addrspace(1) global i32 2, align 4
@device3 = addrspace(1) global i32 3, align 4
@device4 = addrspace(1) global i32 4, align 4
@device5 = addrspace(1) global i32 5, align 4
@device6 = addrspace(1) global i32 6, align 4
@device7 = addrspace(1) global i32 7, align 4
@generic0 = global i32 0, align 4
@generic1 = global i32 1, align 4
@generic2 = global i32 2, align 4
@generic3 = global i32 3, align 4
@generic4 = global i32 4, align 4
@generic5 = global i32 5, align 4
@generic6 = global i32 6, align 4
@generic7 = global i32 7, align 4
