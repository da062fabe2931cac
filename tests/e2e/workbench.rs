//! A folder and a clean environment for one test, and the tools it may start.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a tool may see of the environment: where tools and homes are, and
/// nothing that steers a compiler, a linker or the offload runtime.
const INHERITED: [&str; 6] = [
    "PATH",
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "TMPDIR",
    "USER",
];

pub struct Workbench(TempDir);

impl Workbench {
    pub fn new() -> Workbench {
        Workbench(TempDir::new().expect("a temporary folder"))
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).expect("a new folder");
        path
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a new file");
        path
    }

    /// A program in text, whose first line says what runs it.
    pub fn script(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("a program");
        path
    }

    /// A symbolic link `name` to `target`.
    pub fn link(&self, name: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        std::os::unix::fs::symlink(target, &path).expect("a new symbolic link");
        path
    }

    /// `program` with this folder as its working directory.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.0.path())
            .env_clear()
            .env("LC_ALL", "C");
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// rustc of the given toolchain, else of the default one.
    pub fn rustc(&self, toolchain: Option<&str>) -> Command {
        let mut rustc = self.command("rustc");
        rustc.arg("--edition=2024");
        if let Some(toolchain) = toolchain {
            rustc.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        rustc
    }

    /// Where a program on PATH lies.
    pub fn find(&self, program: &str) -> PathBuf {
        let mut shell = self.command("sh");
        shell
            .args(["-c", &format!("command -v {program}")])
            .succeeds()
            .trim()
            .into()
    }

    /// The program under test, which finds NVIDIA's tools as a user's would.
    pub fn offlink(&self) -> Command {
        let mut command = self.command(offlink());
        command.env("CUDA_HOME", cuda());
        command
    }

    /// A program that was linked: it may not fall back to the host.
    pub fn program(&self, path: impl AsRef<Path>) -> Command {
        let mut command = self.command(path);
        command.env("OMP_TARGET_OFFLOAD", "MANDATORY");
        command
    }

    /// The PATH of the tests with the folder of offlink in front.
    pub fn path_with_offlink(&self) -> String {
        let folder = offlink().parent().expect("a program lies in a folder");
        format!(
            "{}:{}",
            folder.display(),
            std::env::var("PATH").expect("a PATH")
        )
    }
}

/// The Rust toolchains that count: the default one, and nightly where that is
/// installed, since it shows what the linker prints.
pub fn toolchains() -> Vec<Option<&'static str>> {
    let installed = Workbench::new()
        .command("rustup")
        .args(["toolchain", "list"])
        .succeeds();
    let nightly = installed.contains("nightly").then_some(Some("nightly"));
    [None].into_iter().chain(nightly).collect()
}

pub fn offlink() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_offlink"))
}

/// NVIDIA's tools, as `scripts/setup` lays them.
pub fn cuda() -> PathBuf {
    repository().join(".tools/cuda-13.0/nvidia/cu13")
}

pub fn cuda_tool(name: &str) -> PathBuf {
    cuda().join("bin").join(name)
}

pub fn fixture(name: &str) -> PathBuf {
    repository().join("fixtures").join(name)
}

pub fn example(name: &str) -> PathBuf {
    repository().join("examples").join(name)
}

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The libLLVM of a major version that the system's loader knows.
pub fn system_libllvm(bench: &Workbench, name: &str) -> PathBuf {
    let known = bench.command("/sbin/ldconfig").arg("-p").succeeds();
    known
        .lines()
        .filter(|line| line.trim_start().starts_with(&format!("{name} ")))
        .find_map(|line| line.split(" => ").nth(1))
        .unwrap_or_else(|| panic!("there is no {name} on this machine: run `make setup`"))
        .into()
}

pub trait Run {
    /// Runs the command, which must succeed; returns its standard output.
    fn succeeds(&mut self) -> String;

    /// Runs the command, which must succeed without a word on standard error.
    fn succeeds_silently(&mut self) -> String;

    /// Runs the command, which must succeed and has something to say on standard
    /// error; returns that.
    fn warns(&mut self) -> String;

    /// Runs the command, which must end with `code`; returns standard error.
    fn fails_with(&mut self, code: i32) -> String;
}

impl Run for Command {
    fn succeeds(&mut self) -> String {
        let output = finished(self);
        assert!(output.status.success(), "{}", account(self, &output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn succeeds_silently(&mut self) -> String {
        let output = finished(self);
        let silent = output.stderr.is_empty();
        assert!(
            output.status.success() && silent,
            "{}",
            account(self, &output)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn warns(&mut self) -> String {
        let output = finished(self);
        let silent = output.stderr.is_empty();
        assert!(
            output.status.success() && !silent,
            "{}",
            account(self, &output)
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn fails_with(&mut self, code: i32) -> String {
        let output = finished(self);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            account(self, &output)
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn finished(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        let program = command.get_program();
        panic!("cannot start {program:?}: {error}; run `make setup`")
    })
}

fn account(command: &Command, output: &Output) -> String {
    format!(
        "{command:?}\n{}\n-- stdout\n{}-- stderr\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
