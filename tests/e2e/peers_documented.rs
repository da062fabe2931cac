//! docs/PEERS.md has every option that the peers list, and names tests that
//! there are.

use std::path::PathBuf;

use crate::workbench::{Run, Workbench, cuda_tool, repository};

fn document() -> String {
    std::fs::read_to_string(repository().join("docs/PEERS.md")).expect("docs/PEERS.md")
}

/// The part of the document about one peer.
fn section(heading: &str) -> String {
    let document = document();
    let section = document
        .split("\n## ")
        .find(|section| section.starts_with(heading));
    section
        .unwrap_or_else(|| panic!("no section {heading}"))
        .to_owned()
}

/// The names of options at the starts of the lines of a help text.
fn listed(help: &str) -> Vec<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-#".contains(letter);
    let option = |line: &str| {
        let line = line.trim_start().trim_start_matches('<');
        let name = line.strip_prefix("--").or_else(|| line.strip_prefix('-'))?;
        let rest = name.split(['=', ' ', '<', '(']).collect::<Vec<_>>();
        let name = match rest.as_slice() {
            // The table has each of the values of --plugin-opt by itself.
            ["plugin-opt", value, ..] if !value.is_empty() => format!("plugin-opt={value}"),
            [name, ..] => (*name).to_owned(),
            [] => return None,
        };
        (!name.is_empty() && name.replace('=', "").chars().all(is_name)).then_some(name)
    };
    help.lines().filter_map(option).collect()
}

fn all_in(heading: &str, program: PathBuf, help: &str) {
    let section = section(heading);
    let bench = Workbench::new();
    let options = listed(&bench.command(program).arg(help).succeeds());
    assert!(options.len() > 5, "{options:?}");
    for option in options {
        let is_there = [format!("`--{option}"), format!("`-{option}")]
            .iter()
            .any(|name| {
                section.match_indices(name.as_str()).any(|(at, name)| {
                    let next = section[at + name.len()..].chars().next();
                    !next.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '-')
                })
            });
        assert!(is_there, "{heading}: {option} is missing");
    }
}

#[test]
fn every_option_of_the_llvm_tools() {
    for (heading, program) in [
        ("llvm-offload-binary", "llvm-offload-binary-22"),
        ("llvm-offload-wrapper", "llvm-offload-wrapper-22"),
        ("clang-offload-bundler", "clang-offload-bundler-22"),
        ("clang-nvlink-wrapper", "clang-nvlink-wrapper-22"),
    ] {
        all_in(heading, program.into(), "--help-hidden");
    }
}

#[test]
fn every_option_of_fatbinary() {
    all_in("fatbinary", cuda_tool("fatbinary"), "--help");
}

#[test]
fn every_test_that_is_named() {
    let document = document();
    let named: Vec<(&str, &str)> = document
        .split('`')
        .filter_map(|word| word.split_once("::"))
        .collect();
    assert!(named.len() > 40, "{}", named.len());
    for (module, test) in named {
        let file = repository().join(format!("tests/e2e/peers_{module}.rs"));
        let source = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        let is_there = source.contains(&format!("#[test]\nfn {test}()"));
        assert!(is_there, "{module} has no test {test}");
    }
}
