//! Calls of mathematical functions under names that GPUs have no code for: LLVM's intrinsics, which Rust's methods
//! of `f32` and `f64` become, and those of C's library.

use inkwell::module::Module;

use crate::ir::{self, Scalar};
use crate::options::{Keep, Options};

/// A function of C's library that NVIDIA's and AMD's have too.
struct Function {
    /// Its name for double precision.
    name: &'static str,
    /// How many numbers it takes.
    arity: usize,
    /// Whether LLVM 22 makes code of the intrinsic for single precision itself, on NVIDIA and on AMD (tried with llc
    /// for sm_90 and gfx90a; LLVM 19 lacks `exp2` on NVIDIA). Such calls are left to LLVM, and all that allow an
    /// approximation (`afn`).
    native_f32: (bool, bool),
}

const fn function(name: &'static str, arity: usize, native_f32: (bool, bool)) -> Function {
    Function {
        name,
        arity,
        native_f32,
    }
}

/// What both libraries have with arguments and results of one floating-point type, and neither GPU computes itself
/// in double precision.
const FUNCTIONS: [Function; 30] = [
    function("acos", 1, (false, false)),
    function("acosh", 1, (false, false)),
    function("asin", 1, (false, false)),
    function("asinh", 1, (false, false)),
    function("atan", 1, (false, false)),
    function("atan2", 2, (false, false)),
    function("atanh", 1, (false, false)),
    function("cbrt", 1, (false, false)),
    function("cos", 1, (false, true)),
    function("cosh", 1, (false, false)),
    function("erf", 1, (false, false)),
    function("erfc", 1, (false, false)),
    function("exp", 1, (false, true)),
    function("exp10", 1, (false, true)),
    function("exp2", 1, (true, true)),
    function("expm1", 1, (false, false)),
    function("fdim", 2, (false, false)),
    function("fmod", 2, (false, false)),
    function("hypot", 2, (false, false)),
    function("lgamma", 1, (false, false)),
    function("log", 1, (false, true)),
    function("log10", 1, (false, true)),
    function("log1p", 1, (false, false)),
    function("log2", 1, (false, true)),
    function("pow", 2, (false, true)),
    function("sin", 1, (false, true)),
    function("sinh", 1, (false, false)),
    function("tan", 1, (false, false)),
    function("tanh", 1, (false, false)),
    function("tgamma", 1, (false, false)),
];

/// Turns calls of functions that nobody defines into calls of the GPU maker's library, which then is found and
/// linked as for code that calls it by name.
pub(crate) fn call_libraries(module: &Module<'_>, options: &Options) {
    let is_nvidia = options.triple.starts_with("nvptx");
    if !is_nvidia && !options.triple.starts_with("amdgcn") {
        return;
    }
    for global in ir::globals(module) {
        if !global.is_declaration() {
            continue;
        }
        let Ok(name) = str::from_utf8(global.name()) else {
            continue;
        };
        let Some((function, scalar)) = known(name) else {
            continue;
        };
        let (on_nvidia, on_amd) = function.native_f32;
        let native = if is_nvidia { on_nvidia } else { on_amd };
        let stays = if name.starts_with("llvm.") {
            native && scalar == Scalar::F32
        } else {
            // Native code that joins the image may define it.
            options.keep == Keep::Visible
        };
        if !stays && global.has_signature(scalar, function.arity) {
            let other = if is_nvidia {
                nvidia(function, scalar)
            } else {
                amd(function, scalar)
            };
            global.redirect_calls(module, &other);
        }
    }
}

/// The function of an intrinsic's or a C name, with its type.
fn known(name: &str) -> Option<(&'static Function, Scalar)> {
    let find = |name: &str| FUNCTIONS.iter().find(|function| function.name == name);
    if let Some(intrinsic) = name.strip_prefix("llvm.") {
        let (name, scalar) = intrinsic.split_once('.')?;
        let scalar = match scalar {
            "f32" => Scalar::F32,
            "f64" => Scalar::F64,
            _ => return None,
        };
        return Some((find(name)?, scalar));
    }
    find(name)
        .map(|function| (function, Scalar::F64))
        .or_else(|| Some((find(name.strip_suffix('f')?)?, Scalar::F32)))
}

/// The name in libdevice.
fn nvidia(function: &Function, scalar: Scalar) -> String {
    let suffix = if scalar == Scalar::F32 { "f" } else { "" };
    format!("__nv_{}{suffix}", function.name)
}

/// The name in ROCm's ocml.
fn amd(function: &Function, scalar: Scalar) -> String {
    let bits = if scalar == Scalar::F32 { 32 } else { 64 };
    format!("__ocml_{}_f{bits}", function.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Option<(String, String)> {
        let (function, scalar) = known(name)?;
        Some((nvidia(function, scalar), amd(function, scalar)))
    }

    #[test]
    fn names_of_both_makers() {
        let both = |nvidia: &str, amd: &str| Some((nvidia.into(), amd.into()));
        assert_eq!(names("llvm.sin.f64"), both("__nv_sin", "__ocml_sin_f64"));
        assert_eq!(names("llvm.pow.f32"), both("__nv_powf", "__ocml_pow_f32"));
        assert_eq!(names("atan2f"), both("__nv_atan2f", "__ocml_atan2_f32"));
        assert_eq!(names("erf"), both("__nv_erf", "__ocml_erf_f64"));
        for other in [
            "llvm.sin.v2f32",
            "llvm.sqrt.f64",
            "llvm.sin",
            "sinl",
            "f",
            "",
        ] {
            assert_eq!(names(other), None, "{other}");
        }
    }
}
