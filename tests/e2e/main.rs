//! End-to-end tests of the `offlink` program with real compilers, linkers and
//! the offload runtime. `make setup` installs those; a test that misses one
//! fails.

mod arch_names;
mod archives;
mod bad_inputs;
mod cargo_linker;
mod clang_wrapper;
mod determinism;
mod device_code;
mod exit_codes;
mod gc_sections;
mod gpu_kinds;
mod input_forms;
mod inspect;
mod llvm_choice;
mod make_link;
mod matrix;
mod missing_kernel;
mod no_ptxas;
mod nvidia_inputs;
mod peers;
mod peers_documented;
mod peers_fatbinary;
mod peers_nvlink_wrapper;
mod peers_offload_binary;
mod peers_offload_bundler;
mod peers_offload_wrapper;
mod ptx_version;
mod readme;
mod rustc_intrinsic;
mod same_machine_code;
mod single_steps;
mod workbench;
