"""Bazel's own cc_common."""

load(":builtins.bzl", "builtin_cc_common")

cc_common = builtin_cc_common
