//! ROCm's device libraries: which of their files code for a processor is linked with.

use crate::processor::Processor;

/// What decides between files, besides the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A wave has 64 lanes, not 32.
    pub wave64: bool,
    /// Denormal numbers of single precision become zero.
    pub flushes_denormals: bool,
    /// The version of the code object, times 100, as in the module flag
    /// `amdhsa_code_object_version`.
    pub code_object_version: u32,
}

/// Whether a wave has 64 lanes, under these LLVM target features (such as
/// `+wavefrontsize64`); without a word about it, as the processor has it.
pub fn is_wave64(processor: Processor, features: &str) -> bool {
    let last = features
        .split(',')
        .filter_map(|feature| match feature {
            "+wavefrontsize64" => Some(true),
            "+wavefrontsize32" => Some(false),
            _ => None,
        })
        .next_back();
    last.unwrap_or_else(|| processor.has_wave64_by_default())
}

/// The names of the files, in the order in which they are linked: the functions,
/// then the constants that control them.
///
/// They are the files that clang 22 hands to its compiler for HIP, where it is
/// not told to be fast rather than right. Whether the code was compiled with
/// `-ffast-math` can't be seen in bitcode, so the libraries are exact.
pub fn files(processor: Processor, settings: Settings) -> Vec<String> {
    let switch = |name: &str, on: bool| format!("oclc_{name}_{}.bc", if on { "on" } else { "off" });
    let isa = processor.name().trim_start_matches("gfx");
    vec![
        "ocml.bc".into(),
        "ockl.bc".into(),
        switch("daz_opt", settings.flushes_denormals),
        switch("unsafe_math", false),
        switch("finite_only", false),
        switch("correctly_rounded_sqrt", true),
        switch("wavefrontsize64", settings.wave64),
        format!("oclc_isa_version_{isa}.bc"),
        format!("oclc_abi_version_{}.bc", settings.code_object_version),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(name: &str) -> Processor {
        Processor::find(name).unwrap()
    }

    #[test]
    fn files_follow_processor_and_settings() {
        let settings = Settings {
            wave64: true,
            flushes_denormals: false,
            code_object_version: 500,
        };
        let files = files(processor("gfx90a"), settings);
        assert_eq!(
            files,
            [
                "ocml.bc",
                "ockl.bc",
                "oclc_daz_opt_off.bc",
                "oclc_unsafe_math_off.bc",
                "oclc_finite_only_off.bc",
                "oclc_correctly_rounded_sqrt_on.bc",
                "oclc_wavefrontsize64_on.bc",
                "oclc_isa_version_90a.bc",
                "oclc_abi_version_500.bc",
            ]
        );
        let other = Settings {
            wave64: false,
            flushes_denormals: true,
            code_object_version: 600,
        };
        let files = super::files(processor("gfx11-generic"), other);
        assert_eq!(files[2], "oclc_daz_opt_on.bc");
        assert_eq!(files[6], "oclc_wavefrontsize64_off.bc");
        assert_eq!(files[7], "oclc_isa_version_11-generic.bc");
        assert_eq!(files[8], "oclc_abi_version_600.bc");
    }

    #[test]
    fn features_decide_on_the_wave() {
        let rdna = processor("gfx1030");
        assert!(!is_wave64(rdna, ""));
        assert!(is_wave64(rdna, "-wavefrontsize32,+wavefrontsize64"));
        assert!(is_wave64(processor("gfx90a"), "+xnack"));
    }
}
