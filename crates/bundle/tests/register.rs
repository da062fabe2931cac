//! Host objects are linked by the system's linker into programs that run, in
//! which a stand-in for libomptarget checks what it is given.

mod linking;

use std::fs::{self, File};
use std::path::Path;

use linking::{LINKERS, MODES, data, run};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::{HostTarget, openmp};
use offlink_bundle::offload_binary::{Image, ImageKind, OffloadKind};

/// A folder with a device image and the object files that tests link.
struct Workshop {
    folder: tempfile::TempDir,
    image: Vec<u8>,
}

impl Workshop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("device.c"), "int scale(int a) { return a * 2; }").unwrap();
        run(
            path,
            "cc",
            &[
                "-shared",
                "-fPIC",
                "-nostdlib",
                "device.c",
                "-o",
                "device.so",
            ],
        );
        let image = fs::read(path.join("device.so")).unwrap();
        Workshop { folder, image }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn device_image(&self, arch: &str) -> Image<'_> {
        let triple = "x86_64-unknown-linux-gnu";
        Image::new(
            ImageKind::Object,
            OffloadKind::OpenMp,
            triple,
            arch,
            self.image.as_slice(),
        )
    }

    fn wrap(&self, name: &str, images: &[Image<'_>]) {
        let host = HostTarget::from_triple("x86_64-unknown-linux-gnu").unwrap();
        let mut file = File::create(self.path().join(name)).unwrap();
        openmp::write(host, Generation::Llvm21, images, &mut file).unwrap();
    }

    /// Links the stand-in and `arguments` by a driver with its first arguments,
    /// runs the program and compares what it prints.
    fn expect(&self, driver: &[&str], arguments: &[&str], output: &str) {
        let runtime = data("runtime.c");
        let mut all = vec![runtime.to_str().unwrap(), "-o", "program"];
        all.extend(&driver[1..]);
        all.extend(arguments);
        run(self.path(), driver[0], &all);
        let printed = run(self.path(), "./program", &["device.so"]);
        assert_eq!(printed, output, "linked with {driver:?} {arguments:?}");
    }
}

#[test]
fn registers_before_main_and_unregisters_after_it() {
    let workshop = Workshop::new();
    workshop.wrap("wrapped.o", &[workshop.device_image("")]);
    let entries = data("entries.c");
    for (linker, mode) in LINKERS
        .iter()
        .flat_map(|linker| MODES.map(|mode| (linker, mode)))
    {
        let mut arguments = vec!["wrapped.o", entries.to_str().unwrap()];
        arguments.extend(mode);
        let expected = "register: images 1, entries alpha beta\nmain\nend\nunregister\n";
        workshop.expect(linker, &arguments, expected);
    }
}

#[test]
fn a_program_without_entries_links_even_when_sections_are_collected() {
    let workshop = Workshop::new();
    workshop.wrap("wrapped.o", &[workshop.device_image("")]);
    for (linker, mode) in LINKERS
        .iter()
        .flat_map(|linker| MODES.map(|mode| (linker, mode)))
    {
        let mut arguments = vec!["wrapped.o", "-Wl,--gc-sections"];
        arguments.extend(mode);
        let expected = "register: images 1, entries\nmain\nend\nunregister\n";
        workshop.expect(linker, &arguments, expected);
    }
}

#[test]
fn two_objects_in_one_program_register_their_own_images() {
    let workshop = Workshop::new();
    let images = [
        workshop.device_image("a"),
        workshop.device_image("b"),
        workshop.device_image("c"),
    ];
    workshop.wrap("first.o", &images[..2]);
    workshop.wrap("second.o", &images[2..]);
    for linker in LINKERS {
        let expected = "register: images 2, entries\nregister: images 1, entries\nmain\nend\n\
                        unregister\nunregister\n";
        workshop.expect(linker, &["first.o", "second.o"], expected);
    }
}

#[test]
fn a_library_registers_when_it_is_loaded_and_unregisters_when_unloaded() {
    let workshop = Workshop::new();
    workshop.wrap("wrapped.o", &[workshop.device_image("")]);
    let entries = data("entries.c");
    for linker in LINKERS {
        let mut library = vec!["-shared", "-fPIC", "wrapped.o", entries.to_str().unwrap()];
        library.extend(["-o", "library.so"]);
        library.extend(&linker[1..]);
        run(workshop.path(), linker[0], &library);
        let expected = "main\nregister: images 1, entries alpha beta\nunregister\nend\n";
        let arguments = ["-DLIBRARY=\"./library.so\"", "-rdynamic", "-ldl"];
        workshop.expect(linker, &arguments, expected);
    }
}

#[test]
fn no_images_are_none_to_register() {
    let workshop = Workshop::new();
    workshop.wrap("wrapped.o", &[]);
    let expected = "register: images 0, entries\nmain\nend\nunregister\n";
    workshop.expect(LINKERS[0], &["wrapped.o"], expected);
}

#[test]
fn the_name_of_the_object_file_does_not_reach_the_program() {
    let workshop = Workshop::new();
    workshop.wrap("one.o", &[workshop.device_image("")]);
    fs::create_dir(workshop.path().join("folder")).unwrap();
    workshop.wrap("folder/another.o", &[workshop.device_image("")]);
    let (entries, runtime) = (data("entries.c"), data("runtime.c"));
    for (source, object) in [(&entries, "entries.o"), (&runtime, "runtime.o")] {
        let compile = ["-fPIC", "-c", source.to_str().unwrap(), "-o", object];
        run(workshop.path(), "cc", &compile);
    }
    for linker in LINKERS {
        let programs = ["one.o", "folder/another.o"].map(|object| {
            let mut arguments = vec![object, "entries.o", "runtime.o", "-o", "program"];
            arguments.extend(&linker[1..]);
            run(workshop.path(), linker[0], &arguments);
            fs::read(workshop.path().join("program")).unwrap()
        });
        assert!(programs[0] == programs[1], "linked with {linker:?}");
    }
}
