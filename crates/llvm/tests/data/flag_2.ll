; Of a pair of modules whose flags differ, which LLVM warns about.
target triple = "nvptx64-nvidia-cuda"

!llvm.module.flags = !{!0}
!0 = !{i32 2, !"answer", i32 2}
