"""CUDA and ROCm for a vanilla clang, made of labels."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":settings.bzl", "StringListInfo")

def _toolkit(ctx, kind, files, flags):
    """The providers of a toolkit: headers for deps, and make variables for copts."""
    archs = ctx.attr._archs[StringListInfo].values
    own = cc_common.create_compilation_context(headers = depset(files))
    return [
        DefaultInfo(files = depset(files)),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = own)],
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
        platform_common.TemplateVariableInfo({
            "OFFLOAD_%s_ARCHS" % kind: " ".join(["--offload-arch=" + arch for arch in archs]),
            "OFFLOAD_%s_FLAGS" % kind: " ".join(flags),
        }),
    ]

def _link(ctx, path, target):
    file = ctx.actions.declare_file("%s/%s" % (ctx.label.name, path))
    ctx.actions.symlink(output = file, target_file = target)
    return file

def _marker(ctx, path):
    """A file for the sake of its folder."""
    file = ctx.actions.declare_file("%s/%s" % (ctx.label.name, path))
    ctx.actions.write(file, "")
    return file

def _cuda_toolkit_impl(ctx):
    # clang 22 takes a folder for CUDA if it has bin, include and libdevice, and reads
    # the version from cuda.h; all other headers it finds as it finds any (Cuda.cpp,
    # CudaInstallationDetector).
    marker = _marker(ctx, "bin/.folder")
    files = [
        marker,
        _link(ctx, "include/cuda.h", ctx.file.cuda_h),
        _link(ctx, "nvvm/libdevice/libdevice.10.bc", ctx.file.libdevice),
    ]
    root = marker.dirname[:-len("/bin")]
    return _toolkit(ctx, "CUDA", files, ["--cuda-path=" + root, "-Wno-unknown-cuda-version"])

cuda_toolkit = rule(
    doc = """CUDA's headers and libdevice in the form that clang takes for an installation.

The redistribution may have any form: one archive, one for each component, or wheels.""",
    implementation = _cuda_toolkit_impl,
    attrs = {
        "cuda_h": attr.label(allow_single_file = ["cuda.h"], mandatory = True, doc = "CUDA's cuda.h, whose version clang reads."),
        "libdevice": attr.label(allow_single_file = [".bc"], mandatory = True, doc = "libdevice.10.bc."),
        "deps": attr.label_list(
            providers = [CcInfo],
            doc = "Libraries with CUDA's headers (cudart, crt, cccl, curand) in their includes, and those to link.",
        ),
        "_archs": attr.label(default = "//:cuda_archs"),
    },
)

def _rocm_toolkit_impl(ctx):
    if not ctx.file.hip_version:
        return _toolkit(ctx, "HIP", [], ["-nogpuinc", "-nogpulib"])

    # clang 22 takes a folder for HIP if it has this file, and includes
    # hip_runtime.h's wrapper then (AMDGPU.cpp, RocmInstallationDetector).
    version = _link(ctx, "share/hip/version", ctx.file.hip_version)
    marker = _marker(ctx, "include/.folder")
    root = marker.dirname[:-len("/include")]
    return _toolkit(ctx, "HIP", [version, marker], ["--rocm-path=" + root, "-nogpulib"])

rocm_toolkit = rule(
    doc = "HIP's headers in the form that clang takes for an installation. Device libraries are linked by offlink.",
    implementation = _rocm_toolkit_impl,
    attrs = {
        "hip_version": attr.label(
            allow_single_file = True,
            doc = "HIP's share/hip/version. Without it clang leaves HIP's headers to the sources.",
        ),
        "deps": attr.label_list(
            providers = [CcInfo],
            doc = "Libraries with HIP's headers in their includes, and those to link.",
        ),
        "_archs": attr.label(default = "//:hip_archs"),
    },
)

def _no_toolkit_impl(ctx):
    fail("%s: no toolkit is named: set --@offlink//:cuda to a cuda_toolkit, or --@offlink//:rocm to a rocm_toolkit" % ctx.label)

no_toolkit = rule(
    doc = "What stands for a toolkit until one is named.",
    implementation = _no_toolkit_impl,
)
