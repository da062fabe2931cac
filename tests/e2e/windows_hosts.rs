//! Programs for Windows: they can't be run here, so what is registered is read
//! from the programs.

use std::path::{Path, PathBuf};

use object::read::pe::PeFile64;
use object::{Object, ObjectSection};

use crate::workbench::{Run, Workbench, cuda, offlink, repository};

const HOSTS: [&str; 2] = ["x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc"];

/// What a program without a runtime needs beside registration.
const RUNTIME: &str = "
int atexit(void (*f)(void)) { return 0; }
void __tgt_register_lib(void *d) {}
void __tgt_unregister_lib(void *d) {}
void **__cudaRegisterFatBinary(const void *w) { return 0; }
void __cudaRegisterFatBinaryEnd(void **h) {}
void __cudaUnregisterFatBinary(void **h) {}
void __cudaRegisterFunction(void) {}
void __cudaRegisterVar(void) {}
void __cudaRegisterManagedVar(void) {}
char __cudaInitModule(void **h) { return 0; }
void **__hipRegisterFatBinary(const void *w) { return 0; }
void __hipUnregisterFatBinary(void **h) {}
void __hipRegisterFunction(void) {}
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {}
int cudaLaunchKernel(void) { return 0; }
int __cudaPopCallConfiguration(void) { return 0; }
int hipLaunchKernel(void) { return 0; }
int __hipPopCallConfiguration(void) { return 0; }
void use(const void *p) {}
int start(void) { return 0; }
";

const HIP: [&str; 4] = ["-xhip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"];

fn runtime(bench: &Workbench, host: &str) -> PathBuf {
    let source = bench.write("runtime.c", RUNTIME);
    let object = bench.path(format!("runtime-{host}.obj"));
    let mut command = bench.command("clang-22");
    command.arg(format!("--target={host}"));
    command.args(["-w", "-c", "-o"]).arg(&object).arg(source);
    command.succeeds();
    object
}

/// The objects of both units of a program in a language.
fn units(bench: &Workbench, host: &str, language: &[&str]) -> [PathBuf; 2] {
    ["first", "second"].map(|unit| {
        let object = bench.path(format!("{unit}-{host}.obj"));
        let source = format!("crates/bundle/tests/data/registration/{unit}.cu");
        bench
            .command("clang++-22")
            .arg(format!("--target={host}"))
            .args(language)
            .args(["--offload-new-driver", "-fgpu-rdc", "-O1", "-c", "-o"])
            .arg(&object)
            .arg(repository().join(source))
            .succeeds();
        object
    })
}

/// A link as one of lld-link's lines.
fn link(bench: &Workbench, objects: &[PathBuf], program: &Path) -> std::process::Command {
    let mut link = bench.offlink();
    link.args(["lld-link", "--offlink-host-linker=lld-link-22"])
        .args(["--offlink-cc=clang-22", "/nodefaultlib", "/entry:start"])
        .args(["/subsystem:console", "/opt:ref"])
        .arg(format!("/out:{}", program.display()))
        .args(objects);
    link
}

/// The lines that `offlink inspect` prints of the entries of a file.
fn entries(bench: &Workbench, file: &Path) -> Vec<String> {
    let printed = bench.offlink().arg("inspect").arg(file).succeeds();
    let lines = printed.lines().filter(|line| line.starts_with("  entry"));
    lines.map(str::to_owned).collect()
}

/// A loaded program, as far as it is in the file.
struct Program(Vec<u8>);

impl Program {
    fn read(path: &Path) -> Self {
        Program(std::fs::read(path).expect("a program"))
    }

    fn pe(&self) -> PeFile64<'_> {
        PeFile64::parse(&*self.0).expect("a PE program")
    }

    /// The section, as far as it is loaded, and where.
    fn section(&self, name: &str) -> (u64, Vec<u8>) {
        let pe = self.pe();
        let named = |section: &object::read::pe::PeSection64<'_, '_>| section.name() == Ok(name);
        let section = pe.sections().find(named).expect("the section");
        let mut data = section.data().expect("its contents").to_vec();
        data.truncate(usize::try_from(section.size()).expect("a size"));
        (section.address(), data)
    }

    fn bytes(&self, address: u64, size: usize) -> Vec<u8> {
        let pe = self.pe();
        let data = |section: object::read::pe::PeSection64<'_, '_>| {
            let range = section.data_range(address, size as u64).ok().flatten()?;
            Some(range.to_vec())
        };
        pe.sections()
            .find_map(data)
            .expect("an address in the program")
    }

    fn word(&self, address: u64) -> u64 {
        let bytes = self.bytes(address, 8);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    /// Whether its loader moves the pointer at an address with the program.
    fn is_relocated(&self, address: u64) -> bool {
        let pe = self.pe();
        let rva = u32::try_from(address - pe.relative_address_base()).expect("32 bits");
        let directory = pe.data_directories();
        let blocks = directory.relocation_blocks(pe.data(), &pe.section_table());
        let mut blocks = blocks.expect("relocations").expect("some");
        while let Some(block) = blocks.next().expect("a block") {
            if block
                .into_iter()
                .any(|relocation| relocation.virtual_address == rva)
            {
                return true;
            }
        }
        false
    }
}

fn registers_entries_and_images(language: &[&str], wrapper: (&str, u32), container: (&str, &[u8])) {
    let bench = Workbench::new();
    for host in HOSTS {
        let units = units(&bench, host, language);
        let mut expected: Vec<String> = units.iter().flat_map(|it| entries(&bench, it)).collect();
        let program = bench.path(format!("{host}.exe"));
        let mut objects = units.to_vec();
        objects.push(runtime(&bench, host));
        link(&bench, &objects, &program).succeeds_silently();
        let mut found = entries(&bench, &program);
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{host}");
        assert!(found.len() > 20, "{found:?}");

        let program = Program::read(&program);
        // One zero entry before all others and one after them.
        let (_, section) = program.section("llvm_off");
        assert_eq!(section.len(), (found.len() + 2) * 56, "{host}");
        let is_zero = |entry: &[u8]| entry.iter().all(|byte| *byte == 0);
        assert!(is_zero(&section[..56]) && is_zero(&section[section.len() - 56..]));

        let (segment, contents) = program.section(wrapper.0);
        let header = [wrapper.1.to_le_bytes(), 1_u32.to_le_bytes()].concat();
        assert_eq!(contents[..8], header);
        let (blob, bytes) = program.section(container.0);
        assert_eq!(program.word(segment + 8), blob);
        assert!(program.is_relocated(segment + 8));
        assert!(bytes.starts_with(container.1));

        // The constructor is among the program's.
        let (table, constructors) = program.section(".CRT");
        assert_eq!(constructors.len(), 8);
        assert!(program.is_relocated(table));
        let (code, text) = program.section(".text");
        assert!((code..code + text.len() as u64).contains(&program.word(table)));
    }
}

#[test]
fn hip() {
    registers_entries_and_images(
        &HIP,
        (".hipFatB", 0x4849_5046),
        (".hip_fat", b"__CLANG_OFFLOAD_BUNDLE__"),
    );
}

#[test]
fn cuda_programs() {
    let path = format!("--cuda-path={}", cuda().display());
    registers_entries_and_images(
        &[
            "-xcuda",
            "-nocudainc",
            "-nocudalib",
            "--offload-arch=sm_90",
            "-Wno-unknown-cuda-version",
            &path,
        ],
        (".nvFatBi", 0x4662_43b1),
        (".nv_fatb", &0xba55_ed50_u32.to_le_bytes()),
    );
}

/// The descriptor is found by its two images, whose bytes are known.
#[test]
fn openmp() {
    let bench = Workbench::new();
    let hsaco = repository().join("crates/bundle/tests/data/device.hsaco");
    let image = std::fs::read(&hsaco).expect("an image");
    for host in HOSTS {
        let program = bench.path(format!("{host}.exe"));
        let mut command = link(&bench, &[runtime(&bench, host)], &program);
        command.arg(format!("--offlink-host-triple={host}"));
        for arch in ["gfx90a", "gfx90a:xnack+"] {
            let file = hsaco.display();
            command.arg(format!(
                "--offlink-image=file={file},triple=amdgcn-amd-amdhsa,arch={arch}"
            ));
        }
        command.succeeds_silently();
        let program = Program::read(&program);
        let (entries, section) = program.section("llvm_off");
        assert_eq!(section.len(), 2 * 56);
        let (start, data) = program.section(".rdata");
        let descriptor = (start..start + data.len() as u64 - 31)
            .step_by(8)
            .find(|at| program.word(*at) == 2 && program.is_relocated(at + 8))
            .expect("a descriptor of two images");
        let images = program.word(descriptor + 8);
        // Behind the zero entry there is none.
        let ends = [entries + 56; 2];
        assert_eq!(
            [program.word(descriptor + 16), program.word(descriptor + 24)],
            ends
        );
        for row in [images, images + 32] {
            let word = |at: u64| program.word(row + at);
            assert_eq!(word(8) - word(0), image.len() as u64, "{host}");
            assert_eq!(program.bytes(word(0), image.len()), image);
            assert_eq!([word(16), word(24)], ends);
            assert!((0..4).all(|it| program.is_relocated(row + it * 8)));
        }
    }
}

/// As clang sends it, and with a library whose member the program needs.
#[test]
fn clangs_wrapper() {
    let bench = Workbench::new();
    bench.folder("wrapper");
    bench.link("wrapper/clang-linker-wrapper", offlink());
    let host = HOSTS[0];
    let [first, second] = units(&bench, host, &HIP);
    let library = bench.path("second.lib");
    let mut archive = bench.command("llvm-lib-22");
    archive
        .arg(format!("/out:{}", library.display()))
        .arg(&second);
    archive.succeeds();
    let runtime = runtime(&bench, host);
    // The first unit's host code needs the second's.
    for objects in [&[&first, &runtime][..], &[&runtime]] {
        let program = bench.path("program.dll");
        let mut command = bench.command("clang-22");
        command
            .args(["-B", "wrapper", "--offload-link", "-fuse-ld=lld", "-shared"])
            .args([
                &format!("--target={host}"),
                "-nostdlib",
                "-L.",
                "-Wl,-noentry",
            ])
            .args(objects)
            .arg("-lsecond")
            .arg("-o")
            .arg(&program)
            .succeeds_silently();
        let taken = objects.len() - 1;
        let taken = [&first, &second].into_iter().take(2 * taken);
        let all: usize = taken.map(|unit| entries(&bench, unit).len()).sum();
        assert_eq!(entries(&bench, &program).len(), all, "{objects:?}");
    }
}

/// What a link has made fits with more of its kind into one program.
#[test]
fn two_registration_objects() {
    let bench = Workbench::new();
    let bundle = repository().join("crates/bundle/tests/data/hip-plain.hipfb");
    for host in HOSTS {
        for object in ["one.obj", "two.obj"] {
            let mut wrap = bench.offlink();
            wrap.args(["wrap", "--cc=clang-22", "-o", object]);
            wrap.arg(format!("--host-triple={host}")).arg(&bundle);
            wrap.succeeds_silently();
        }
        let program = bench.path("program.exe");
        let objects = [
            bench.path("one.obj"),
            bench.path("two.obj"),
            runtime(&bench, host),
        ];
        let mut link = bench.command("lld-link-22");
        link.args([
            "/nodefaultlib",
            "/entry:start",
            "/subsystem:console",
            "/out:program.exe",
        ]);
        link.args(objects).succeeds();
        let (_, section) = Program::read(&program).section("llvm_off");
        assert_eq!(section, [0; 2 * 56], "the ends");
        let (_, constructors) = Program::read(&program).section(".CRT");
        assert_eq!(constructors.len(), 16);
    }
}

#[test]
fn an_object_for_another_processor() {
    let bench = Workbench::new();
    let objects = [
        units(&bench, HOSTS[0], &HIP)[0].clone(),
        runtime(&bench, HOSTS[1]),
    ];
    let error = link(&bench, &objects, &bench.path("program.exe")).fails_with(1);
    assert!(
        error.contains("is an object for aarch64-pc-windows-msvc"),
        "{error}"
    );
}
