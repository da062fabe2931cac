//! What the words of a line for macOS's linker mean for a device link: Apple's
//! `ld` and lld's `ld64.lld`. Options start with one dash, and most have their
//! values as words of their own.

use super::tokens::Token;
use crate::files;
use crate::request::{Input, InputName, LinkLine, OutputKind};
use offlink_bundle::host_object::{Format, Platform};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Options, and how many words follow as their values (`ld64.lld --help`, 22.1.8;
/// Apple's ld(1)). A value that is taken for an input by mistake does no harm
/// unless it is an object.
#[rustfmt::skip]
const VALUES: &[(usize, &[&str])] = &[
    (1, &[
        "-A", "-F", "-L", "-U", "-add_ast_path", "-alias_list", "-allowable_client",
        "-arch", "-bundle_loader", "-cache_path_lto", "-client_name",
        "-compatibility_version", "-current_version", "-dependency_info", "-dyld_env", "-dylib_install_name", "-dylinker_install_name", "-e", "-exported_symbol",
        "-exported_symbols_list", "-filelist", "-final_output",
        "-force_load", "-framework", "-headerpad", "-image_base", "-init",
        "-install_name", "-ios_version_min", "-l",
        "-load_hidden", "-lto_library", "-macos_version_min",
        "-macosx_version_min", "-map", "-max_default_common_align", "-max_relative_cache_size_lto", "-mcpu", "-mllvm",
        "-multiply_defined", "-multiply_defined_unused",
        "-needed_framework", "-needed_library", "-non_global_symbols_no_strip_list", "-non_global_symbols_strip_list",
        "-object_path_lto", "-order_file", "-oso_prefix", "-pagezero_size",
        "-prune_after_lto", "-prune_interval_lto",
        "-read_only_relocs", "-reexport_framework", "-reexport_library",
        "-reexported_symbols_list", "-rpath", "-sdk_version", "-sect_diff_relocs",
        "-seg1addr", "-seg_addr_table", "-seg_addr_table_filename", "-segalign", "-segment_order",
        "-segs_read_only_addr", "-segs_read_write_addr", "-stack_addr", "-stack_size",
        "-sub_library", "-sub_umbrella", "-syslibroot", "-u", "-umbrella", "-undefined",
        "-unexported_symbol", "-unexported_symbols_list", "-upward_framework", "-upward_library",
        "-weak_framework", "-weak_library", "-weak_reference_mismatches", "-why_live", 
    ]),
    (2, &[
        "-add_empty_section", "-alias", "-dylib_file", "-move_to_ro_segment",
        "-move_to_rw_segment", "-rename_segment", "-section_order", "-sectobjectsymbols",
        "-segaddr",
    ]),
    (3, &[
        "-platform_version", "-sectalign", "-sectcreate", "-sectorder", "-segcreate", "-segprot",
    ]),
    (4, &["-rename_section"]),
];

/// Words that no other linker's line has.
const MACOS_ONLY: &[&str] = &[
    "-platform_version",
    "-macos_version_min",
    "-macosx_version_min",
    "-syslibroot",
];

/// How many words follow an option as its values; `None` for words that are no
/// options with values.
pub fn value_count(option: &str) -> Option<usize> {
    let mut known = VALUES.iter();
    let found = known.find(|(_, options)| options.contains(&option));
    found.map(|(count, _)| *count)
}

/// Whether a linker's line is for macOS.
pub fn is_one(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().filter_map(|argument| argument.to_str());
    let flavor = (words.clone().next() == Some("-flavor"))
        .then(|| words.clone().nth(1))
        .flatten();
    match flavor {
        Some(flavor) => matches!(flavor, "darwin" | "ld64" | "ld64.lld"),
        // A driver's line, which has these words behind its own options only.
        None if words
            .clone()
            .any(|word| word.starts_with("-Wl,") || word == "-Xlinker") =>
        {
            false
        }
        None => words.any(|word| MACOS_ONLY.contains(&word)),
    }
}

/// Whether a triple is one of macOS.
pub fn is_macos(triple: &str) -> bool {
    let platform = Platform::from_triple(triple);
    platform.is_ok_and(|platform| platform.format() == Format::MachO)
}

/// The triple of the macOS host that a linker's or a driver's line names, by `-arch`
/// or a driver's target. Behind nvcc's `-arch` there are GPUs.
pub fn host_triple(arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let behind = |option: &str| {
        let pair = words.windows(2).find(|pair| pair[0] == option);
        pair.map(|pair| pair[1])
    };
    let by_arch = behind("-arch").map(|arch| format!("{arch}-apple-macosx"));
    let joined = words.iter().find_map(|word| word.strip_prefix("--target="));
    let by_target = joined.or_else(|| behind("-target")).map(str::to_owned);
    [by_arch, by_target]
        .into_iter()
        .flatten()
        .find(|triple| is_macos(triple))
}

/// Replaces `-filelist FILE` by the files that it names, one a line; behind a comma
/// follows the directory that they are in. A list that can't be read is left to
/// the linker.
pub fn expand_file_lists(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        let list = rest.peek().filter(|_| argument == "-filelist");
        if let Some(files) = list.and_then(|list| files_of_list(list)) {
            expanded.extend(files);
            rest.next();
        } else {
            expanded.push(argument);
        }
    }
    expanded
}

fn files_of_list(list: &OsStr) -> Option<Vec<OsString>> {
    let text = list.to_str()?;
    let (file, dir) = text.split_once(',').unwrap_or((text, ""));
    let names = std::fs::read_to_string(file).ok()?;
    files::read(Path::new(file));
    let names = names.lines().filter(|name| !name.is_empty());
    Some(names.map(|name| Path::new(dir).join(name).into()).collect())
}

/// Reads the words in order.
pub fn interpret(tokens: impl IntoIterator<Item = Token>) -> LinkLine {
    let mut line = LinkLine {
        is_for_macos: true,
        ..LinkLine::default()
    };
    let mut all_load = false;
    let mut listed = Vec::new();
    let (mut framework_dirs, mut frameworks) = (Vec::new(), Vec::new());
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let Some(option) = token.text.to_str().filter(|text| is_option(text)) else {
            let name = InputName::File(token.text.into());
            line.inputs.push(input(name, false, token.arguments));
            continue;
        };
        let mut value = || tokens.next().map(|value| value.text).unwrap_or_default();
        match option {
            "-o" => line.output = value().into(),
            "-r" => line.output_kind = OutputKind::Relocatable,
            "-dylib" | "-dynamiclib" | "-bundle" => line.output_kind = OutputKind::SharedLibrary,
            "-all_load" => all_load = true,
            "-syslibroot" => line.sysroot = Some(value().into()),
            "-L" => line.search_dirs.push(value().into()),
            "-u" | "-e" => {
                let symbol = value().to_string_lossy().into_owned();
                line.required_symbols.push(symbol);
            }
            "-l" => {
                let name = InputName::Library(value());
                line.inputs.push(input(name, false, 0..0));
            }
            "-force_load" | "-load_hidden" | "-needed_library" | "-weak_library"
            | "-reexport_library" => {
                let name = InputName::File(value().into());
                line.inputs.push(input(name, option == "-force_load", 0..0));
            }
            "-filelist" => listed.extend(files_of_list(&value()).unwrap_or_default()),
            "-F" => framework_dirs.push(PathBuf::from(value())),
            "-framework" | "-needed_framework" | "-weak_framework" | "-reexport_framework" => {
                frameworks.push(value());
            }
            _ => match value_count(option) {
                Some(count) => drop(tokens.by_ref().take(count).count()),
                None => joined_value(option, token.arguments, &mut line, &mut framework_dirs),
            },
        }
    }
    // Lists that are still here are named in a way that no file can stand in for.
    let listed = listed.into_iter().map(|file| InputName::File(file.into()));
    line.inputs
        .extend(listed.map(|name| input(name, false, 0..0)));
    let frameworks = frameworks
        .iter()
        .filter_map(|name| framework(name, &framework_dirs));
    line.inputs
        .extend(frameworks.map(|file| input(InputName::File(file), false, 0..0)));
    if all_load {
        // The option holds for archives before it too.
        line.inputs
            .iter_mut()
            .for_each(|input| input.whole_archive = true);
    }
    line
}

/// The file that is linked of a framework of the user's; the system's hold no
/// device code.
fn framework(name: &OsStr, dirs: &[PathBuf]) -> Option<PathBuf> {
    let bundle = format!("{}.framework", name.display());
    let file = Path::new(&bundle).join(name);
    let mut candidates = dirs.iter().map(|dir| dir.join(&file));
    candidates.find(|path| path.is_file())
}

/// Options whose value follows at once: `-lfoo`, `-L/dir`. Whatever is left means
/// nothing here.
fn joined_value(
    option: &str,
    arguments: Range<usize>,
    line: &mut LinkLine,
    framework_dirs: &mut Vec<PathBuf>,
) {
    if let Some(dir) = option.strip_prefix("-F") {
        framework_dirs.push(dir.into());
    } else if let Some(dir) = option.strip_prefix("-L") {
        line.search_dirs.push(dir.into());
    } else if let Some(library) = LIBRARY_OPTIONS
        .iter()
        .find_map(|prefix| option.strip_prefix(prefix))
    {
        let name = InputName::Library(library.into());
        line.inputs.push(input(name, false, arguments));
    }
}

/// What comes before a library's name.
const LIBRARY_OPTIONS: &[&str] = &[
    "-l",
    "-weak-l",
    "-needed-l",
    "-reexport-l",
    "-hidden-l",
    "-upward-l",
];

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

fn input(name: InputName, whole_archive: bool, arguments: Range<usize>) -> Input {
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
        let words = line.split_whitespace().map(OsString::from).enumerate();
        interpret(words.map(|(position, word)| Token::alone(&word, position)))
    }

    fn names(line: &LinkLine) -> Vec<String> {
        line.inputs
            .iter()
            .map(|input| input.name.to_string())
            .collect()
    }

    #[test]
    fn a_line_of_clang() {
        // The shape of clang 22's line for arm64 macOS.
        let line = read(
            "-demangle -dynamic -arch arm64 -platform_version macos 11.0.0 11.0 -syslibroot /sdk \
             -mllvm -enable-linkonceodr-outlining -o out -L/x a.o -lb -framework CUDA \
             -rpath /y -lSystem /lib/libclang_rt.osx.a",
        );
        let expected = ["a.o", "-lb", "-lSystem", "/lib/libclang_rt.osx.a"];
        assert_eq!(names(&line), expected);
        assert_eq!(line.output.to_str(), Some("out"));
        assert_eq!(line.sysroot, Some("/sdk".into()));
        assert_eq!(line.search_dirs, [PathBuf::from("/x")]);
        assert_eq!(line.inputs[0].arguments, 15..16);
    }

    #[test]
    fn values_are_no_inputs() {
        let line = read(
            "-rename_section a b c d -sectcreate e f g.o -segprot h i j -alias k l \
             -order_file m -install_name n -exported_symbols_list o p.o",
        );
        assert_eq!(names(&line), ["p.o"]);
    }

    #[test]
    fn whole_archives() {
        let whole = |line: &str| -> Vec<bool> {
            read(line)
                .inputs
                .iter()
                .map(|input| input.whole_archive)
                .collect()
        };
        assert_eq!(whole("a.a -force_load b.a c.a"), [false, true, false]);
        assert_eq!(whole("a.a -all_load b.a"), [true, true]);
    }

    #[test]
    fn file_lists_are_expanded() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        std::fs::write(&list, "a.o\nb c.o\n").unwrap();
        let list = list.to_str().unwrap();
        let expand = |list: &str| expand_file_lists(vec!["-filelist".into(), list.into()]);
        assert_eq!(expand(list), ["a.o", "b c.o"]);
        assert_eq!(expand(&format!("{list},/d")), ["/d/a.o", "/d/b c.o"]);
        assert_eq!(expand("none"), ["-filelist", "none"]);
    }
}
