//! A peer and offlink under its name, side by side: the same line in two
//! folders with the same inputs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::workbench::{Workbench, cuda, offlink};

pub struct Pair {
    pub bench: Workbench,
    peer: PathBuf,
    own: PathBuf,
}

const FOLDERS: [&str; 2] = ["peer", "own"];

impl Pair {
    /// `peer` is a program in PATH or a path; offlink takes its file name.
    pub fn new(peer: impl AsRef<Path>) -> Pair {
        let peer = peer.as_ref().to_owned();
        let bench = Workbench::new();
        for folder in ["bin"].into_iter().chain(FOLDERS) {
            bench.folder(folder);
        }
        let name = peer.file_name().expect("a program has a name").to_owned();
        let own = bench.link(&format!("bin/{}", name.to_string_lossy()), offlink());
        Pair { bench, peer, own }
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        for folder in FOLDERS {
            self.bench.write(&format!("{folder}/{name}"), &contents);
        }
    }

    pub fn copy(&self, from: impl AsRef<Path>, name: &str) {
        self.write(name, std::fs::read(from).expect("a file to copy"));
    }

    /// A file of the folder in which offlink runs.
    pub fn own(&self, name: &str) -> PathBuf {
        self.bench.path("own").join(name)
    }

    /// A file of the folder in which the peer runs.
    pub fn theirs(&self, name: &str) -> PathBuf {
        self.bench.path("peer").join(name)
    }

    fn command(&self, program: &Path, folder: &str, line: &str) -> Command {
        let mut command = self.bench.command(program);
        command
            .current_dir(self.bench.path(folder))
            .env("CUDA_HOME", cuda())
            .args(line.split_whitespace());
        command
    }

    /// offlink under the peer's name.
    pub fn offlink(&self, line: &str) -> Command {
        self.command(&self.own, "own", line)
    }

    /// The peer itself.
    pub fn peer(&self, line: &str) -> Command {
        self.command(&self.peer, "peer", line)
    }

    fn output(mut command: Command, variables: &[(&str, &str)]) -> Output {
        command.envs(variables.iter().copied());
        command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; run `make setup`"))
    }

    /// Both end with the same code and leave the same files, all of them.
    pub fn same(&self, line: &str) {
        self.same_with(&[], line);
    }

    /// As [`Pair::same`], with variables of the environment.
    pub fn same_with(&self, variables: &[(&str, &str)], line: &str) {
        self.same_code(variables, line);
        let (theirs, own) = (self.files("peer"), self.files("own"));
        let names = |files: &[(String, Vec<u8>)]| {
            files
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&theirs), names(&own), "{line}");
        for ((name, theirs), (_, own)) in theirs.iter().zip(&own) {
            assert!(theirs == own, "{line}: {name} differs");
        }
    }

    /// Both end with the same code; returns what they printed.
    pub fn same_code(&self, variables: &[(&str, &str)], line: &str) -> [String; 2] {
        let theirs = Self::output(self.peer(line), variables);
        let own = Self::output(self.offlink(line), variables);
        let stderr = String::from_utf8_lossy(&own.stderr);
        assert_eq!(theirs.status.code(), own.status.code(), "{line}\n{stderr}");
        [theirs, own].map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Both fail with 1, offlink with one line that holds `message`.
    pub fn both_fail(&self, line: &str, message: &str) {
        let theirs = Self::output(self.peer(line), &[]);
        assert_eq!(theirs.status.code(), Some(1), "{line}");
        self.offlink_fails(line, message);
    }

    /// offlink fails with 1 and one line that holds `message`.
    pub fn offlink_fails(&self, line: &str, message: &str) {
        let own = Self::output(self.offlink(line), &[]);
        let stderr = String::from_utf8_lossy(&own.stderr);
        assert_eq!(own.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains(message), "{line}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }

    fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(self.bench.path(folder))
            .expect("a folder")
            .map(|entry| {
                let entry = entry.expect("an entry of a folder");
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(entry.path()).expect("a file"))
            })
            .collect();
        files.sort();
        files
    }
}
