//! The kernel of ../saxpy-build, as data of the program.

fn main() {
    offlink_build::Kernels::new()
        .rust("../saxpy-build/kernel/gpu.rs", ["sm_80", "sm_90", "gfx90a"])
        .images("kernels");
}
