//! The kernels are those of ../../saxpy-build.

fn main() {
    offlink_build::Kernels::new()
        .rust("../../saxpy-build/kernel/gpu.rs", ["sm_90", "gfx90a"])
        .rust("../../saxpy-build/kernel/cpu.rs", [offlink_build::HOST])
        .compile("vector-kernels");
}
