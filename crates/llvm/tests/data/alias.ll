; An alias, which LLVM takes for a fatal error where the PTX version is below 6.3.
target triple = "nvptx64-nvidia-cuda"

@other_name = alias i32 (i32), ptr @function

define i32 @function(i32 %x) {
  ret i32 %x
}

define ptx_kernel void @kernel(ptr %p) {
  %x = load i32, ptr %p
  %y = call i32 @other_name(i32 %x)
  store i32 %y, ptr %p
  ret void
}
