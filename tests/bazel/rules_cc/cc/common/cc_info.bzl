"""Bazel's own CcInfo."""

load(":builtins.bzl", "builtin_cc_info")

CcInfo = builtin_cc_info
