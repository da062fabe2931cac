"""CUDA and HIP sources for a vanilla clang: cc_library with clang's own flags."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")

# The driver of LLVM 24 knows no other; clang 21 and 22 take the first flag, too. Device
# code stays bitcode, so that the compile needs none of the vendors' tools.
_OFFLOAD = ["--offload-new-driver", "-fgpu-rdc", "-foffload-lto"]

def cuda_library(name, archs = [], toolkit = Label("//:cuda"), **kwargs):
    """A cc_library whose sources are CUDA.

    Args:
      name: the target's name.
      archs: what to compile for; by default --@offlink//:cuda_archs.
      toolkit: a cuda_toolkit; by default --@offlink//:cuda.
      **kwargs: as for cc_library.
    """
    _library(name, "cuda", "CUDA", archs, toolkit, kwargs)

def hip_library(name, archs = [], toolkit = Label("//:rocm"), **kwargs):
    """A cc_library whose sources are HIP.

    Args:
      name: the target's name.
      archs: what to compile for; by default --@offlink//:hip_archs.
      toolkit: a rocm_toolkit; by default --@offlink//:rocm.
      **kwargs: as for cc_library.
    """
    _library(name, "hip", "HIP", archs, toolkit, kwargs)

def _library(name, language, variable, archs, toolkit, kwargs):
    flags = ["-x", language] + _OFFLOAD + ["$(OFFLOAD_%s_FLAGS)" % variable]
    if archs:
        flags += ["--offload-arch=" + arch for arch in archs]
    else:
        flags.append("$(OFFLOAD_%s_ARCHS)" % variable)
    cc_library(
        name = name,
        copts = flags + kwargs.pop("copts", []),
        deps = kwargs.pop("deps", []) + [toolkit],
        toolchains = kwargs.pop("toolchains", []) + [toolkit],
        **kwargs
    )
