"""The C++ toolchain, with --incompatible_enable_cc_toolchain_resolution."""

_TYPE = "@bazel_tools//tools/cpp:toolchain_type"

def find_cc_toolchain(ctx):
    return ctx.toolchains[_TYPE]

def use_cc_toolchain():
    return [_TYPE]
