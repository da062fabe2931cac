//! Builds the kernel for two GPUs and the CPU. The package needs no linker setting.

fn main() {
    offlink_build::Kernels::new()
        .rust("kernel/gpu.rs", ["sm_90", "gfx90a"])
        .rust("kernel/cpu.rs", [offlink_build::HOST])
        .compile("kernels");
}
