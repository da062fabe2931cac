//! End-to-end tests of the `offlink` program with real compilers, linkers and
//! the offload runtime. `make setup` installs those; a test that misses one
//! fails.

mod arch_names;
mod archives;
mod as_wrapper;
mod bad_inputs;
mod cargo_linker;
mod clang_wrapper;
mod defects;
mod determinism;
mod device_archives;
mod device_code;
mod exit_codes;
mod gc_sections;
mod gpu_kinds;
mod host_bitcode;
mod input_forms;
mod inspect;
mod library_names;
mod llvm_choice;
mod make_link;
mod matrix;
mod missing_kernel;
mod no_ptxas;
mod nvidia_inputs;
mod ptx_version;
mod readme;
mod relocatable;
mod rustc_intrinsic;
mod same_machine_code;
mod single_steps;
mod workbench;
mod wrapper_commands;
mod wrapper_products;
mod wrapper_settings;
