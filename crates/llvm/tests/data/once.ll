; A kernel of linkonce linkage, which linking leaves out where nothing refers to it.
target triple = "nvptx64-nvidia-cuda"

$once = comdat any

define linkonce_odr ptx_kernel void @once(ptr %p) comdat {
  store i32 1, ptr %p
  ret void
}
