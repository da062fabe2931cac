"""Bazel's own cc_binary."""

cc_binary = native.cc_binary
