//! Device LTO with a real libLLVM.

mod amdgcn;
mod common;
mod faults;
mod libraries;
mod library_path;
mod nvptx;
mod rust;
mod spirv;
mod split;
mod variable_order;
mod x86_64;
