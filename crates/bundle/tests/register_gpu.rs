//! Host objects for CUDA and HIP are linked into programs that run, in which a
//! stand-in for the runtimes prints the calls that it gets. They must be those
//! of the program that LLVM's clang-linker-wrapper makes of the same objects.

mod linking;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use goblin::elf::Elf;
use linking::{LINKERS, MODES, data, run};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::{Error, HostTarget, Platform, cuda, hip, openmp};
use offlink_bundle::offload_binary::{Image, ImageKind, OffloadKind};

const CUDA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../.tools/cuda-13.0/nvidia/cu13"
);
const HOST: HostTarget = HostTarget::X86_64Linux;

/// A folder in which programs are linked with the stand-in.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Self {
        let workshop = Workshop(tempfile::tempdir().unwrap());
        workshop.compile_runtime(&[]);
        workshop
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn compile_runtime(&self, flags: &[&str]) {
        let runtime = data("registration/runtime.c");
        let mut arguments = Vec::new();
        arguments.extend(["-fPIC", "-c", runtime.to_str().unwrap(), "-o", "runtime.o"]);
        arguments.extend(flags);
        run(self.path(), "cc", &arguments);
    }

    /// Compiles both translation units for host and device.
    fn compile(&self, flags: &[&str]) {
        for name in ["first", "second"] {
            let source = data(&format!("registration/{name}.cu"));
            let object = format!("{name}.o");
            let mut arguments = flags.to_vec();
            arguments.extend(["--offload-new-driver", "-fgpu-rdc", "-O1"]);
            arguments.extend([source.to_str().unwrap(), "-c", "-o", &object]);
            run(self.path(), "clang++-22", &arguments);
        }
    }

    /// Compiles an object with `entries`, in this order.
    fn add_entries(&self, entries: &[Entry]) {
        let mut source = "struct entry { unsigned long reserved; unsigned short version, kind; \
             unsigned flags; void *address; const char *name; unsigned long size, data; \
             void *auxiliary; };\nchar object[8]; void *pointer;\n\
             __attribute__((section(\"llvm_offload_entries\"), used, aligned(8))) \
             static struct entry entries[] = {\n"
            .to_owned();
        for Entry { kind, flags, size } in entries {
            let name = format!("{kind}-{flags}-{size}");
            source +=
                &format!("{{0, 1, {kind}, {flags}, object, \"{name}\", {size}, 3, &pointer}},\n");
        }
        fs::write(self.path().join("entries.c"), source + "};\n").unwrap();
        run(self.path(), "cc", &["-fPIC", "-c", "entries.c"]);
    }

    /// Compiles an object with entries of one kind as older compilers emit them.
    fn add_old_entries(&self, generation: Generation, kind: OffloadKind, entries: &[Entry]) {
        let fields = match generation {
            Generation::Llvm19 => {
                "void *address; const char *name; unsigned long size; unsigned flags, data;"
            }
            _ => {
                "unsigned long reserved; unsigned short version, kind; unsigned flags; \
                 void *address; const char *name; unsigned long size, data; void *auxiliary;"
            }
        };
        let mut source = format!(
            "char object[8]; void *pointer;\n__attribute__((section(\"{}\"), used, aligned(1))) \
             static struct {{ {fields} }} entries[] = {{\n",
            generation.section(kind)
        );
        // LLVM 20 counts the kinds.
        let number = if kind == OffloadKind::Hip { 3 } else { 2 };
        for Entry { kind, flags, size } in entries {
            let name = format!("{kind}-{flags}-{size}");
            source += &match generation {
                Generation::Llvm19 => format!("{{object, \"{name}\", {size}, {flags}, 3}},\n"),
                _ => format!(
                    "{{0, 1, {number}, {flags}, object, \"{name}\", {size}, 3, &pointer}},\n"
                ),
            };
        }
        fs::write(self.path().join("entries.c"), source + "};\n").unwrap();
        run(self.path(), "cc", &["-fPIC", "-c", "entries.c"]);
    }

    fn write(&self, name: &str, write: impl FnOnce(&mut File) -> Result<(), Error>) {
        write(&mut File::create(self.path().join(name)).unwrap()).unwrap();
    }

    /// Links the stand-in and `arguments` by a driver with its first arguments.
    fn link(&self, driver: &[&str], arguments: &[&str]) {
        let mut all = vec!["runtime.o", "-o", "program"];
        all.extend(&driver[1..]);
        all.extend(arguments);
        run(self.path(), driver[0], &all);
    }

    /// Runs `program`; returns the calls, with addresses as symbols.
    fn calls(&self, environment: &[&str]) -> String {
        let mut arguments = environment.to_vec();
        arguments.push("./program");
        let printed = run(self.path(), "env", &arguments);
        let program = fs::read(self.path().join("program")).unwrap();
        let symbols = Symbols::of(&program);
        let lines = printed.lines().map(|line| {
            let words = line.split(' ').map(|word| match word.split_once("=+0x") {
                Some((label, offset)) => {
                    let offset = u64::from_str_radix(offset, 16).unwrap();
                    format!("{label}={}", symbols.names(offset))
                }
                None => word.to_owned(),
            });
            words.collect::<Vec<_>>().join(" ") + "\n"
        });
        lines.collect()
    }

    /// Links the objects with clang-linker-wrapper, and then with the object
    /// that `write` makes of the contents of the same `section`; both programs
    /// must make the same calls, which are returned.
    fn compare(
        &self,
        section: &str,
        variable: &str,
        write: impl FnOnce(&[u8], &mut File) -> Result<(), Error>,
    ) -> String {
        let mut arguments = vec!["first.o", "second.o", "entries.o", "runtime.o", "-no-pie"];
        let cuda = format!("--cuda-path={CUDA}");
        arguments.extend(["-o", "program", "--offload-link", "-nogpulib", &cuda]);
        // clang-nvlink-wrapper finds nvlink there only.
        let path = format!("PATH={CUDA}/bin:{}", std::env::var("PATH").unwrap());
        let command = [path.as_str(), "clang++-22"].into_iter().chain(arguments);
        run(self.path(), "env", &command.collect::<Vec<_>>());
        let program = fs::read(self.path().join("program")).unwrap();
        let blob = section_of(&program, section);
        fs::write(self.path().join("blob"), blob).unwrap();
        let environment = [&format!("{variable}=blob") as &str];
        let expected = self.calls(&environment);
        assert!(expected.contains(" as expected\n"), "{expected}");

        self.write("wrapped.o", |file| write(blob, file));
        for linker in LINKERS {
            let objects = ["first.o", "second.o", "entries.o", "wrapped.o", "-no-pie"];
            self.link(linker, &objects);
            assert_eq!(self.calls(&environment), expected, "linked with {linker:?}");
        }
        expected
    }
}

#[derive(Clone, Copy)]
struct Entry {
    kind: u16,
    flags: u32,
    size: u64,
}

impl Entry {
    fn is_managed_variable(&self) -> bool {
        self.flags & 7 == 1 && self.size != 0
    }
}

/// Entries of every kind, with every combination of the flags.
fn all_entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for kind in [0, 1, 2, 4, 6, 8] {
        for flags in 0..64 {
            entries.extend([0, 8].map(|size| Entry { kind, flags, size }));
        }
    }
    entries
}

/// The symbols of a program, by their offset in its image.
struct Symbols(BTreeMap<u64, Vec<String>>);

impl Symbols {
    fn of(program: &[u8]) -> Self {
        let elf = Elf::parse(program).unwrap();
        let name = |symbol: &goblin::elf::Sym| elf.strtab.get_at(symbol.st_name).unwrap();
        let is_start = |symbol: &goblin::elf::Sym| name(symbol) == "__executable_start";
        let start = elf.syms.iter().find(is_start).unwrap().st_value;
        let mut symbols: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in elf.syms.iter().filter(|it| it.st_size != 0) {
            let names = symbols.entry(symbol.st_value.wrapping_sub(start));
            names.or_default().push(name(&symbol).to_owned());
        }
        symbols.values_mut().for_each(|names| names.sort());
        Symbols(symbols)
    }

    fn names(&self, offset: u64) -> String {
        let names = self.0.get(&offset);
        names.map_or_else(|| panic!("nothing is at {offset:#x}"), |it| it.join(","))
    }
}

fn section_of<'a>(program: &'a [u8], name: &str) -> &'a [u8] {
    let elf = Elf::parse(program).unwrap();
    let mut sections = elf.section_headers.iter();
    let section = sections.find(|it| elf.shdr_strtab.get_at(it.sh_name) == Some(name));
    &program[section.unwrap().file_range().unwrap()]
}

/// Every way to link a program: a linker's driver and further arguments.
fn programs() -> impl Iterator<Item = (&'static [&'static str], &'static [&'static str])> {
    let linkers = LINKERS.into_iter();
    linkers.flat_map(|linker| MODES.map(|mode| (linker, mode)))
}

fn count(calls: &str, call: &str) -> usize {
    calls.lines().filter(|line| line.starts_with(call)).count()
}

#[test]
fn cuda_programs_make_the_calls_that_llvm_makes() {
    let workshop = Workshop::new();
    let cuda = format!("--cuda-path={CUDA}");
    let flags = [
        "-xcuda",
        "-nocudainc",
        "-nocudalib",
        "--offload-arch=sm_90",
        &cuda,
    ];
    workshop.compile(&[&flags[..], &["-Wno-unknown-cuda-version"]].concat());
    // clang-linker-wrapper passes the function for managed variables what HIP's
    // takes, which is not what it takes; clang 22 makes none of these entries.
    let mut entries = all_entries();
    entries.retain(|entry| entry.kind != 2 || !entry.is_managed_variable());
    workshop.add_entries(&entries);
    let calls = workshop.compare(".nv_fatbin", "CUDA_FATBIN", |fatbin, file| {
        cuda::write(HOST, Generation::Llvm21, fatbin, file)
    });
    // Those of the sources and, in each of the eight combinations of the other
    // flags, those made up.
    assert_eq!(count(&calls, "cudaRegisterFunction"), 8 + 8 * 8);
    assert_eq!(count(&calls, "cudaRegisterVar"), 10 + 8);
}

#[test]
fn hip_programs_make_the_calls_that_llvm_makes() {
    let workshop = Workshop::new();
    workshop.compile(&["-xhip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"]);
    workshop.add_entries(&all_entries());
    let calls = workshop.compare(".hip_fatbin", "HIP_FATBIN", |bundle, file| {
        hip::write(HOST, Generation::Llvm21, bundle, file)
    });
    assert_eq!(count(&calls, "hipRegisterFunction"), 8 + 8 * 8);
    assert_eq!(count(&calls, "hipRegisterVar"), 10 + 8);
    assert_eq!(count(&calls, "hipRegisterManagedVar"), 2 + 8);
    assert_eq!(count(&calls, "hipRegisterSurface"), 1 + 8);
    assert_eq!(count(&calls, "hipRegisterTexture"), 2 + 8);
}

/// Objects of all kinds, and two of one, with one entry of each kind.
#[test]
fn objects_of_several_kinds_fit_into_one_program() {
    let workshop = Workshop::new();
    let kernel = |kind| Entry {
        kind,
        flags: 0,
        size: 0,
    };
    workshop.add_entries(&[kernel(1), kernel(2), kernel(4)]);
    fs::write(workshop.path().join("fatbin"), "fatbin").unwrap();
    fs::write(workshop.path().join("bundle"), "bundle").unwrap();
    let image = Image::new(
        ImageKind::Object,
        OffloadKind::OpenMp,
        "x86_64",
        "",
        b"image".as_slice(),
    );
    workshop.write("openmp.o", |file| {
        openmp::write(HOST, Generation::Llvm21, &[image], file)
    });
    workshop.write("cuda.o", |file| {
        cuda::write(HOST, Generation::Llvm21, b"fatbin", file)
    });
    workshop.write("hip.o", |file| {
        hip::write(HOST, Generation::Llvm21, b"bundle", file)
    });
    workshop.write("another.o", |file| {
        hip::write(HOST, Generation::Llvm21, b"bundle", file)
    });
    let expected = "\
tgt_register_lib images=1
cudaRegisterFatBinary magic=0x466243b1 version=1 unused=null aligned=1 as expected
cudaRegisterFunction host=object device=2-0-0 name=2-0-0 limit=-1 null null null null null
cudaRegisterFatBinaryEnd
hipRegisterFatBinary magic=0x48495046 version=1 unused=null aligned=1 as expected
hipRegisterFunction host=object device=4-0-0 name=4-0-0 limit=-1 null null null null null
hipRegisterFatBinary magic=0x48495046 version=1 unused=null aligned=1 as expected
hipRegisterFunction host=object device=4-0-0 name=4-0-0 limit=-1 null null null null null
main
hipUnregisterFatBinary
hipUnregisterFatBinary
cudaUnregisterFatBinary
tgt_unregister_lib images=1
";
    let objects = ["openmp.o", "cuda.o", "hip.o", "another.o", "entries.o"];
    for (linker, mode) in programs() {
        workshop.link(linker, &[&objects[..], mode].concat());
        let calls = workshop.calls(&["CUDA_FATBIN=fatbin", "HIP_FATBIN=bundle"]);
        assert_eq!(calls, expected, "linked with {linker:?} {mode:?}");
    }
}

#[test]
fn programs_without_entries_register_their_images_alone() {
    let workshop = Workshop::new();
    workshop.write("cuda.o", |file| {
        cuda::write(HOST, Generation::Llvm21, b"fatbin", file)
    });
    workshop.write("hip.o", |file| {
        hip::write(HOST, Generation::Llvm21, b"bundle", file)
    });
    for (linker, mode) in programs() {
        let arguments = ["cuda.o", "hip.o", "-Wl,--gc-sections"];
        workshop.link(linker, &[&arguments[..], mode].concat());
        let calls = workshop.calls(&["A=a"]);
        let names: Vec<_> = calls
            .lines()
            .map(|it| it.split(' ').next().unwrap())
            .collect();
        let expected = [
            "cudaRegisterFatBinary",
            "cudaRegisterFatBinaryEnd",
            "hipRegisterFatBinary",
            "main",
            "hipUnregisterFatBinary",
            "cudaUnregisterFatBinary",
        ];
        assert_eq!(names, expected, "linked with {linker:?} {mode:?}");
    }
}

/// The registration object from C source, for hosts that this crate has no code for.
fn compile_source(workshop: &Workshop, kind: OffloadKind, generation: Generation) {
    let platform = Platform::from_triple(HOST.triple()).unwrap();
    let blob = workshop.path().join("blob");
    let source = match kind {
        OffloadKind::Hip => hip::source(platform, generation, &blob),
        _ => cuda::source(platform, generation, &blob),
    };
    fs::write(workshop.path().join("source.c"), source).unwrap();
    let mut arguments = platform.compiler_flags();
    arguments.extend(["source.c", "-o", "registration.o"]);
    run(workshop.path(), "cc", &arguments);
}

/// Entries that say the same are registered by the same calls, whatever their form.
#[test]
fn entries_of_older_compilers_make_the_same_calls() {
    let workshop = Workshop::new();
    fs::write(workshop.path().join("blob"), "blob").unwrap();
    for kind in [OffloadKind::Cuda, OffloadKind::Hip] {
        let mut entries = all_entries();
        entries.retain(|entry| entry.kind == kind.number());
        let calls = || {
            let objects = ["registration.o", "entries.o", "-no-pie"];
            workshop.link(LINKERS[0], &objects);
            let environment = ["CUDA_FATBIN=blob", "HIP_FATBIN=blob"];
            workshop.calls(&environment)
        };
        workshop.add_entries(&entries);
        compile_source(&workshop, kind, Generation::Llvm21);
        let expected = calls();
        assert!(count(&expected, "cudaRegister") + count(&expected, "hipRegister") > 64);
        for generation in [Generation::Llvm20, Generation::Llvm19] {
            let mut expected = expected.clone();
            if generation == Generation::Llvm19 {
                let is_managed = |line: &&str| {
                    line.contains("RegisterManagedVar") || line.contains("InitModule")
                };
                let others = expected.lines().filter(|line| !is_managed(line));
                expected = others.map(|line| format!("{line}\n")).collect();
            }
            workshop.add_old_entries(generation, kind, &entries);
            workshop.write("registration.o", |file| match kind {
                OffloadKind::Hip => hip::write(HOST, generation, b"blob", file),
                _ => cuda::write(HOST, generation, b"blob", file),
            });
            assert_eq!(calls(), expected, "{kind:?} {generation:?}");
            compile_source(&workshop, kind, generation);
            assert_eq!(calls(), expected, "{kind:?} {generation:?} from source");
        }
    }
}

/// As the CUDA runtime declares the function, unlike clang-linker-wrapper.
#[test]
fn managed_variables_of_cuda_are_registered_and_then_set_up() {
    let workshop = Workshop::new();
    let variable = |flags| Entry {
        kind: 2,
        flags,
        size: 8,
    };
    workshop.add_entries(&[variable(1), variable(0), variable(9)]);
    workshop.write("cuda.o", |file| {
        cuda::write(HOST, Generation::Llvm21, b"fatbin", file)
    });
    let expected = "\
cudaRegisterManagedVar host=pointer device=2-1-8 name=2-1-8 external=0 size=8 constant=0 global=0
cudaRegisterVar host=object device=2-0-8 name=2-0-8 external=0 size=8 constant=0 global=0
cudaRegisterManagedVar host=pointer device=2-9-8 name=2-9-8 external=1 size=8 constant=0 global=0
cudaRegisterFatBinaryEnd
";
    for (linker, mode) in programs() {
        let objects = ["cuda.o", "entries.o"];
        workshop.compile_runtime(&[]);
        workshop.link(linker, &[&objects[..], mode].concat());
        let calls = workshop.calls(&["A=a"]);
        let set_up = format!("{expected}cudaInitModule\nmain\n");
        assert!(calls.contains(&set_up), "{linker:?} {mode:?}: {calls}");

        workshop.compile_runtime(&["-DWITHOUT_INIT_MODULE"]);
        workshop.link(linker, &[&objects[..], mode].concat());
        let calls = workshop.calls(&["A=a"]);
        let registered = format!("{expected}main\n");
        assert!(calls.contains(&registered), "{linker:?} {mode:?}: {calls}");
    }
}
