"""All that users load."""

load("//private:toolkits.bzl", _cuda_toolkit = "cuda_toolkit", _rocm_toolkit = "rocm_toolkit")
load(":libraries.bzl", _cuda_library = "cuda_library", _hip_library = "hip_library")
load(":offload_library.bzl", _offload_library = "offload_library")
load(":toolchain.bzl", _offlink_toolchain = "offlink_toolchain")

cuda_library = _cuda_library
cuda_toolkit = _cuda_toolkit
hip_library = _hip_library
offlink_toolchain = _offlink_toolchain
offload_library = _offload_library
rocm_toolkit = _rocm_toolkit
