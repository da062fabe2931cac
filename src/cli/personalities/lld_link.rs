//! A line of lld-link or of Microsoft's linker, as clang sends it for Windows.

use crate::cli::{UsageError, own_options};
use crate::options::{Options, split_once, strip_prefix};
use crate::request::{Input, InputName, LinkLine, OutputKind, Request, Style};
use crate::wrapper_request::WrapperRequest;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;

/// Reads the line, response files already replaced. Options start with `-` or
/// `/`, have their value behind a colon and may be in capitals (LLVM 22's
/// `lld-link /help`); paths that start with `/` are told by their form.
///
/// # Errors
/// [`UsageError`] when one of offlink's own options makes no sense.
pub fn parse(arguments: Vec<OsString>, mut options: Options) -> Result<Request, UsageError> {
    let arguments = own_options::take_out(arguments, &mut options)?;
    Ok(Request {
        style: Style::Link,
        line: interpret(&arguments),
        arguments,
        options,
        host_triple: None,
        wrapper: WrapperRequest::default(),
    })
}

fn interpret(arguments: &[OsString]) -> LinkLine {
    let mut output = None;
    let mut all_whole = false;
    let mut line = LinkLine {
        // Libraries are looked for here before in the directories of the line.
        search_dirs: vec![".".into()],
        // Where an entry point is not named, it is the runtime's, which needs one
        // of these.
        required_symbols: ["main", "wmain", "WinMain", "wWinMain", "DllMain"]
            .map(str::to_owned)
            .into(),
        ..LinkLine::default()
    };
    for (position, argument) in arguments.iter().enumerate() {
        let Some((name, value)) = option(argument) else {
            line.inputs
                .push(input(argument, false, position..position + 1));
            continue;
        };
        match (name.as_str(), value) {
            ("out", Some(file)) => output = Some(file.into()),
            ("libpath", Some(dir)) => line.search_dirs.push(dir.into()),
            ("defaultlib", Some(library)) => line.inputs.push(input(library, false, 0..0)),
            ("wholearchive", Some(library)) => line.inputs.push(input(library, true, 0..0)),
            ("wholearchive", None) => all_whole = true,
            ("include" | "entry", Some(symbol)) => {
                let symbol = symbol.to_string_lossy().into_owned();
                line.required_symbols.push(symbol);
            }
            ("dll", None) => line.output_kind = OutputKind::SharedLibrary,
            ("lib" | "help" | "?" | "version", None) => line.output_kind = OutputKind::NotALink,
            _ => {}
        }
    }
    for input in &mut line.inputs {
        input.whole_archive |= all_whole;
    }
    line.output = output.unwrap_or_else(|| {
        let extension = if line.output_kind == OutputKind::SharedLibrary {
            "dll"
        } else {
            "exe"
        };
        let first = line.inputs.iter().find_map(|input| match &input.name {
            InputName::File(file) => file.file_name(),
            InputName::Library(_) => None,
        });
        Path::new(first.unwrap_or(OsStr::new("a"))).with_extension(extension)
    });
    line
}

/// The name, in small letters, and the value of an option. Paths that start with
/// a slash have another slash or a dot in what would be the name.
fn option(argument: &OsStr) -> Option<(String, Option<&OsStr>)> {
    let option = strip_prefix(argument, "-").or_else(|| strip_prefix(argument, "/"))?;
    let (name, value) = split_once(option, b':');
    let name = name.to_str()?.to_ascii_lowercase();
    (!name.contains(['/', '.'])).then_some((name, value))
}

/// Libraries are looked for in the directories of the line; their `.lib` may be
/// left out where nothing else can be meant.
fn input(name: &OsStr, whole_archive: bool, arguments: Range<usize>) -> Input {
    let path = Path::new(name);
    let is_library = arguments.is_empty() || path.extension().is_some_and(|it| it == "lib");
    let name = if is_library {
        let mut file = OsString::from(":");
        file.push(name);
        if path.extension().is_none() {
            file.push(".lib");
        }
        InputName::Library(file)
    } else {
        InputName::File(path.into())
    };
    Input {
        name,
        whole_archive,
        prefer_static: false,
        arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LinkLine {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        interpret(&arguments)
    }

    fn names(line: &LinkLine) -> Vec<String> {
        line.inputs
            .iter()
            .map(|input| input.name.to_string())
            .collect()
    }

    #[test]
    fn a_line_of_clang() {
        // What clang 22.1.8 sends for x86_64-pc-windows-msvc, shortened.
        let line = read(
            "-out:p.dll -defaultlib:libcmt -libpath:lib/amd64 -libpath:/x -nologo -dll \
             -implib:p.lib a.o /tmp/b.obj foo.lib -wholearchive:x.lib",
        );
        assert_eq!(
            names(&line),
            [
                "-l:libcmt.lib",
                "a.o",
                "/tmp/b.obj",
                "-l:foo.lib",
                "-l:x.lib"
            ]
        );
        assert_eq!(line.inputs[1].arguments, 7..8);
        let whole: Vec<_> = line
            .inputs
            .iter()
            .map(|input| input.whole_archive)
            .collect();
        assert_eq!(whole, [false, false, false, false, true]);
        assert_eq!(line.output, Path::new("p.dll"));
        assert_eq!(line.output_kind, OutputKind::SharedLibrary);
        let dirs = [".", "lib/amd64", "/x"].map(std::path::PathBuf::from);
        assert_eq!(line.search_dirs, dirs);
    }

    #[test]
    fn microsofts_spellings() {
        let line = read(
            "/OUT:x.exe /ENTRY:start /Include:sym /nodefaultlib /obj/a.obj /WHOLEARCHIVE b.lib",
        );
        assert_eq!(names(&line), ["/obj/a.obj", "-l:b.lib"]);
        assert!(line.inputs[1].whole_archive);
        assert_eq!(line.output, Path::new("x.exe"));
        assert!(
            line.required_symbols
                .ends_with(&["start".into(), "sym".into()])
        );
        assert_eq!(read("dir/first.obj b.obj").output, Path::new("first.exe"));
        assert_eq!(read("-lib a.obj").output_kind, OutputKind::NotALink);
    }
}
