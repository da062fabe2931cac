//! A compiler driver's line, as rustc, cargo and Makefiles send it.

use crate::cli::tokens::Token;
use crate::cli::{UsageError, ld_line, ld64_line, own_options};
use crate::options::{Options, strip_prefix};
use crate::request::{LinkLine, OutputKind, Request, Style};
use crate::wrapper_request::WrapperRequest;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Reads a cc line, response files already replaced.
///
/// # Errors
/// [`UsageError`] when one of offlink's own options makes no sense.
pub fn parse(arguments: Vec<OsString>, mut options: Options) -> Result<Request, UsageError> {
    let mut arguments = own_options::take_out(arguments, &mut options)?;
    let named = options.host_triple.as_deref();
    let host_triple = ld64_line::host_triple(&arguments);
    let is_for_macos = named.is_some_and(ld64_line::is_macos) || host_triple.is_some();
    if is_for_macos {
        arguments = ld64_line::expand_file_lists(arguments);
    }
    let line = interpret(&arguments, is_for_macos);
    Ok(Request {
        style: Style::Cc,
        arguments,
        line,
        options,
        host_triple,
        wrapper: WrapperRequest::default(),
    })
}

/// Driver options whose value is the next argument and means nothing here.
const WITH_VALUE: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-F",
    "-G",
    "-I",
    "-MF",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-Xassembler",
    "-Xclang",
    "-Xpreprocessor",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-framework",
    "-idirafter",
    "-imacros",
    "-imultilib",
    "-include",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-mllvm",
    "-rpath",
    "-specs",
    "-target",
    "-wrapper",
    "-x",
    "-z",
];

/// Driver options that the linker gets with the same meaning: those that take
/// a value, joined or as the next argument.
const LINKER_VALUE: &[&str] = &["-L", "-l", "-o", "-u", "-e", "--sysroot"];

/// Options that stop the driver before it links.
const NO_LINK: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-emit-ast",
    "--help",
    "--version",
    "-###",
];

fn interpret(arguments: &[OsString], is_for_macos: bool) -> LinkLine {
    let mut tokens = Vec::with_capacity(arguments.len());
    let mut links = true;
    let mut names_lld = false;
    let mut rest = arguments.iter().enumerate();
    while let Some((position, argument)) = rest.next() {
        if let Some(group) = strip_prefix(argument, "-Wl,") {
            let words = group.as_bytes().split(|byte| *byte == b',');
            tokens.extend(words.map(|word| Token::part(OsStr::from_bytes(word))));
            continue;
        }
        let text = argument.to_str().unwrap_or_default();
        if text == "-Xlinker" {
            tokens.extend(rest.next().map(|(_, word)| Token::part(word)));
        } else if LINKER_VALUE.contains(&text) {
            tokens.push(Token::alone(argument, position));
            tokens.extend(rest.next().map(|(next, value)| Token::alone(value, next)));
        } else if is_for_macos && (text == "-isysroot" || ld64_line::value_count(text).is_some()) {
            // clang hands these on as they are, but for the name of the sysroot.
            let name = if text == "-isysroot" {
                "-syslibroot"
            } else {
                text
            };
            tokens.push(Token::part(name));
            let values = rest
                .by_ref()
                .take(ld64_line::value_count(name).unwrap_or(1));
            tokens.extend(values.map(|(_, value)| Token::part(value)));
        } else if WITH_VALUE.contains(&text) {
            rest.next();
        } else if let Some(linker) = text
            .strip_prefix("-fuse-ld=")
            .or_else(|| text.strip_prefix("--ld-path="))
        {
            names_lld = is_lld(Path::new(linker));
        } else if NO_LINK.contains(&text) {
            links = false;
        } else if !text.starts_with('-')
            || is_for_linker(text)
            || is_for_macos && text.starts_with("-F")
        {
            tokens.push(Token::alone(argument, position));
        }
    }
    let mut line = if is_for_macos {
        ld64_line::interpret(tokens)
    } else {
        ld_line::interpret(tokens)
    };
    line.names_lld = names_lld;
    if !links {
        line.output_kind = OutputKind::NotALink;
    }
    line
}

/// Options without a value of their own argument that the linker gets too.
fn is_for_linker(text: &str) -> bool {
    matches!(
        text,
        "-shared" | "-static" | "-static-pie" | "-r" | "-dynamiclib" | "-bundle" | "-all_load"
    ) || ["-L", "-l", "-o", "-u", "--sysroot="]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// Whether the program is an lld, by its file name.
pub fn is_lld(program: &Path) -> bool {
    program
        .file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|name| name.contains("lld"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LinkLine {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        interpret(&arguments, ld64_line::host_triple(&arguments).is_some())
    }

    fn files(line: &LinkLine) -> Vec<String> {
        line.inputs
            .iter()
            .map(|input| input.name.to_string())
            .collect()
    }

    #[test]
    fn a_line_of_rustc() {
        // The shape of rustc 1.95's line for x86-64 Linux, shortened.
        let line = read(
            "-m64 /tmp/rustc1/symbols.o a.rcgu.o -Wl,--as-needed -Wl,-Bstatic libdep.rlib \
             -Wl,-Bdynamic -lgcc_s -lc -L /tmp/rustc1/raw-dylibs -B/x/gcc-ld -fuse-ld=lld \
             -Wl,--eh-frame-hdr -Wl,-z,noexecstack -L /x/lib -o out -Wl,--gc-sections -pie \
             -Wl,-z,relro,-z,now -nodefaultlibs",
        );
        assert_eq!(
            files(&line),
            [
                "/tmp/rustc1/symbols.o",
                "a.rcgu.o",
                "libdep.rlib",
                "-lgcc_s",
                "-lc"
            ]
        );
        assert!(line.inputs[2].prefer_static && !line.inputs[3].prefer_static);
        assert_eq!(line.inputs[1].arguments, 2..3);
        assert!(line.names_lld);
        assert_eq!(line.output.to_str(), Some("out"));
        assert_eq!(line.search_dirs.len(), 2);
    }

    #[test]
    fn values_are_no_inputs() {
        let line = read("-x c -include a.h -Xlinker -Map -Xlinker m.map -T s.ld -target t b.o");
        assert_eq!(files(&line), ["b.o"]);
    }

    #[test]
    fn lines_for_macos() {
        let line = read(
            "--target=arm64-apple-macos11 -fuse-ld=lld -Wl,-force_load,a.a -framework X b.o \
             -Xlinker -sectcreate -Xlinker S -Xlinker s -Xlinker c.o -isysroot /sdk -lz",
        );
        assert!(line.is_for_macos);
        assert_eq!(files(&line), ["a.a", "b.o", "-lz"]);
        assert!(line.inputs[0].whole_archive);
        assert_eq!(line.sysroot, Some("/sdk".into()));
        assert!(!read("--target=x86_64-linux-gnu a.o").is_for_macos);
        let library = read("-arch arm64 -dynamiclib a.o");
        assert_eq!(library.output_kind, OutputKind::SharedLibrary);
    }

    #[test]
    fn compiling_is_no_link() {
        assert_eq!(read("-c a.c -o a.o").output_kind, OutputKind::NotALink);
        assert_eq!(read("-shared a.o").output_kind, OutputKind::SharedLibrary);
        assert_eq!(read("-Wl,-r a.o").output_kind, OutputKind::Relocatable);
    }

    #[test]
    fn lld_is_told_by_name() {
        assert!(read("-fuse-ld=/usr/bin/ld.lld-22 a.o").names_lld);
        assert!(read("--ld-path=/x/rust-lld a.o").names_lld);
        assert!(!read("-fuse-ld=bfd a.o").names_lld);
    }
}
