//! Builds the kernels for GPUs of two vendors and the CPU.

fn main() {
    offlink_build::Kernels::new()
        .package(
            "kernels",
            ["sm_80", "sm_90", "gfx90a", "gfx942", offlink_build::HOST],
        )
        .compile("kernels");
}
