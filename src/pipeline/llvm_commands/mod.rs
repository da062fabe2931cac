//! The commands that LLVM 22.1.8's clang-linker-wrapper would run for a link,
//! as it prints them: for those who read its lines, or replay them.

mod host_line;

use super::group::REGISTERED;
use super::host::{DEFAULT_HOST, Host};
use super::plan::{DeviceLink, Job, Plan, Work};
use super::register;
use super::select::Entries;
use super::work_dir::WorkDir;
use crate::device_input::DeviceInput;
use crate::options::Emit;
use crate::output_file::{self, OutputError};
use crate::request::Request;
use crate::target::{Device, Target};
use crate::toolchain::Toolchain;
use offlink_bundle::host_object::Platform;
use offlink_bundle::offload_binary::OffloadKind;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the lines of one link are made from.
pub struct LlvmCommands<'a> {
    request: &'a Request,
    plan: &'a Plan,
    toolchain: &'a Toolchain,
    work_dir: &'a WorkDir,
    /// The jobs by the place of their target's first code in the line, which
    /// is the wrapper's order.
    order: Vec<usize>,
    /// The kinds in the order of their first code.
    kinds: Vec<OffloadKind>,
}

impl<'a> LlvmCommands<'a> {
    /// `inputs` are the device code in the order of the line.
    pub fn new(
        request: &'a Request,
        plan: &'a Plan,
        inputs: &[Origin],
        toolchain: &'a Toolchain,
        work_dir: &'a WorkDir,
    ) -> Self {
        let place = |job: &Job| {
            inputs
                .iter()
                .position(|input| input.is_for(&job.target))
                .unwrap_or(inputs.len())
        };
        let mut order: Vec<usize> = (0..plan.jobs.len()).collect();
        order.sort_by_key(|number| place(&plan.jobs[*number]));
        let first = |kind: &OffloadKind| inputs.iter().position(|input| input.kind == *kind);
        let mut kinds = REGISTERED.to_vec();
        kinds.retain(|kind| plan.jobs.iter().any(|job| job.kinds.contains(kind)));
        kinds.sort_by_key(first);
        Self {
            request,
            plan,
            toolchain,
            work_dir,
            order,
            kinds,
        }
    }

    /// The kinds whose images are registered, in the order of the lines.
    pub fn kinds(&self) -> &[OffloadKind] {
        &self.kinds
    }

    /// A line for each device link: clang, which calls the linker of the image.
    pub fn device_lines(&self) -> String {
        let clang = self.toolchain.llvm_tool("clang");
        let mut names = InputNames::default();
        let mut lines = String::new();
        for number in &self.order {
            let job = &self.plan.jobs[*number];
            if let Work::Link(link) = &job.work
                && link.options.emit != Emit::Ptx
            {
                let inputs = names.of(job, link, self.work_dir);
                lines += &line(&clang, self.device_arguments(job, &inputs));
            }
        }
        lines
    }

    fn device_arguments(&self, job: &Job, inputs: &[PathBuf]) -> Vec<OsString> {
        let target = &job.target;
        let wrapper = &self.request.wrapper;
        let mut arguments: Vec<OsString> = vec!["--no-default-config".into(), "-o".into()];
        arguments.push(self.image_file(target).into());
        let mut dump = self.request.line.output.clone().into_os_string();
        dump.push(format!(".{}.", image_name(target)));
        arguments.extend(["-dumpdir".into(), dump]);
        arguments.push(format!("--target={}", target.triple()).into());
        let is_cpu = matches!(target.device(), Device::X86_64(_));
        let is_nvidia = matches!(target.device(), Device::Nvptx(_));
        let is_spirv = *target.device() == Device::SpirV;
        match (target.device(), target.arch()) {
            (Device::Amdgcn(_), id) => {
                arguments.extend([format!("-mcpu={id}").into(), "-flto".into()]);
            }
            (_, arch) if arch.is_empty() || arch == "generic" => {}
            (_, arch) => arguments.push(format!("-march={arch}").into()),
        }
        for option in &wrapper.llvm {
            let value = format!("--plugin-opt={}", option.value);
            arguments.extend(["-Xlinker".into(), value.into()]);
        }
        if !is_nvidia && !is_spirv {
            arguments.push("-Wl,--no-undefined".into());
        }
        arguments.extend(inputs.iter().map(OsString::from));
        if is_cpu {
            arguments.extend(["-Wl,-Bsymbolic".into(), "-shared".into()]);
            arguments.extend(host_line::for_cpu_images(&self.request.arguments));
        }
        for option in wrapper.llvm.iter().filter(|option| option.by_mllvm) {
            let value = format!("-mllvm={}", option.value);
            arguments.extend(["-Xlinker".into(), value.into()]);
        }
        if wrapper.save_temps && !is_cpu && !is_spirv {
            arguments.push("-Wl,--save-temps".into());
        }
        if wrapper.embed_bitcode {
            arguments.push("-Wl,--lto-emit-llvm".into());
        }
        if job.kinds.contains(&OffloadKind::Sycl) {
            let triple = format!("-triple={}", target.triple());
            arguments.extend(["--sycl-link".into(), "-Xlinker".into(), triple.into()]);
            arguments.extend(["-Xlinker".into(), "-arch=".into()]);
        }
        let is_meant =
            |triple: &Option<String>| triple.as_deref().is_none_or(|it| target.is_named_by(it));
        for argument in wrapper.device_linker.iter().filter(|a| is_meant(&a.triple)) {
            arguments.extend(["-Xlinker".into(), argument.value.clone()]);
        }
        let compiler = wrapper.device_compiler.iter();
        arguments.extend(
            compiler
                .filter(|a| is_meant(&a.triple))
                .map(|a| a.value.clone()),
        );
        arguments
    }

    /// A line for the container of each kind that has one made by a tool.
    pub fn bundle_lines(&self) -> String {
        let mut lines = String::new();
        for kind in &self.kinds {
            lines += &match kind {
                OffloadKind::Cuda => self.fatbin_line(),
                OffloadKind::Hip => self.hip_bundle_line(),
                _ => String::new(),
            };
        }
        lines
    }

    /// Jobs with images of a kind, by triple and arch as text, descending.
    fn jobs_of(&self, kind: OffloadKind) -> Vec<&Job> {
        let of_kind = self
            .plan
            .jobs
            .iter()
            .filter(|job| job.kinds.contains(&kind));
        let mut jobs: Vec<&Job> = of_kind.collect();
        jobs.sort_by(|a, b| b.target.cmp(&a.target));
        jobs
    }

    fn fatbin_line(&self) -> String {
        let mut arguments: Vec<OsString> = vec!["-64".into(), "--create".into()];
        arguments.push(register::container_file(OffloadKind::Cuda, self.work_dir).into());
        for job in self.jobs_of(OffloadKind::Cuda) {
            let is_ptx = matches!(&job.work, Work::Link(link) if link.options.emit == Emit::Ptx);
            let kind = if is_ptx { "ptx" } else { "elf" };
            let arch = job.target.arch();
            let number = arch.strip_prefix("sm_").unwrap_or(&arch);
            let mut argument = OsString::from(format!("--image3=kind={kind},sm={number},file="));
            argument.push(self.file_of(job));
            arguments.push(argument);
        }
        line(&self.toolchain.fatbinary(), arguments)
    }

    fn hip_bundle_line(&self) -> String {
        let compress = self.request.options.compress;
        let mut arguments: Vec<OsString> = vec!["-type=o".into(), "-bundle-align=4096".into()];
        if compress.hip {
            arguments.push("-compress".into());
        }
        if let Some(level) = compress.level {
            arguments.push(format!("-compression-level={level}").into());
        }
        let jobs = self.jobs_of(OffloadKind::Hip);
        let host = Host::of(self.request).platform;
        let host = host.map_or(DEFAULT_HOST, Platform::triple);
        let mut targets = format!("-targets=host-{host}");
        for job in &jobs {
            let id = offlink_bundle::hip_bundle::Id::hip(job.target.triple(), &job.target.arch())
                .to_string();
            targets += &format!(",{id}");
        }
        arguments.extend([targets.into(), "-input=/dev/null".into()]);
        let with_file = |option: &str, file: PathBuf| {
            let mut argument = OsString::from(option);
            argument.push(file);
            argument
        };
        arguments.extend(
            jobs.iter()
                .map(|job| with_file("-input=", self.file_of(job))),
        );
        let bundle = register::container_file(OffloadKind::Hip, self.work_dir);
        arguments.push(with_file("-output=", bundle));
        let bundler = self.toolchain.llvm_tool("clang-offload-bundler");
        line(&bundler, arguments)
    }

    /// The image of a job.
    fn file_of(&self, job: &Job) -> PathBuf {
        match &job.work {
            Work::PassOn(input) => input.source.clone().into(),
            Work::Link(_) => self.image_file(&job.target),
        }
    }

    fn image_file(&self, target: &Target) -> PathBuf {
        self.work_dir.file(&image_name(target))
    }

    /// The line that makes the output of `-r` one that other objects can be
    /// linked with: its entries get a section of their own, named by a hash of
    /// the output, which is that of nothing before the output is there.
    pub fn relocatable_line(&self, entries: &Entries) -> String {
        /// The lower half of the MD5 sum of no bytes, as the wrapper writes it.
        const HASH_OF_NOTHING: &str = "4b2008fd98c1dd4";
        let renamed = |prefix: &str, section: &str| {
            let name = format!("{prefix}{section}");
            OsString::from(format!("{name}={name}_{HASH_OF_NOTHING}"))
        };
        let mut arguments = vec![self.request.line.output.clone().into_os_string()];
        arguments.extend(["--remove-section", ".llvm.offloading"].map(OsString::from));
        let sections = self
            .kinds()
            .iter()
            .map(|kind| entries.form(*kind).section(*kind));
        for section in sections.collect::<BTreeSet<_>>() {
            arguments.extend(["--rename-section".into(), renamed("", section)]);
            for end in ["__start_", "__stop_"] {
                arguments.extend(["--redefine-sym".into(), renamed(end, section)]);
            }
        }
        line(&self.toolchain.llvm_tool("llvm-objcopy"), arguments)
    }

    /// Keeps the inputs of the device links under the names of their lines.
    ///
    /// # Errors
    /// [`OutputError`] when a file can't be written.
    pub fn save_inputs(&self) -> Result<(), OutputError> {
        let mut names = InputNames::default();
        for number in &self.order {
            let job = &self.plan.jobs[*number];
            if let Work::Link(link) = &job.work {
                let files = names.of(job, link, self.work_dir);
                for (file, input) in files.iter().zip(link.inputs()) {
                    output_file::write_bytes(file, &input.data)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps an image under the name of its line.
    ///
    /// # Errors
    /// [`OutputError`] when the file can't be written.
    pub fn save_image(&self, target: &Target, image: &[u8]) -> Result<(), OutputError> {
        output_file::write_bytes(&self.image_file(target), image)
    }
}

/// The host linker's line.
pub fn host_line(linker: &Path, arguments: &[OsString]) -> String {
    line(linker, host_line::spelled(arguments))
}

/// What the order of the lines depends on: what code was found, in the order
/// of the line.
#[derive(Debug)]
pub struct Origin {
    triple: String,
    arch: String,
    kind: OffloadKind,
}

impl Origin {
    /// That of some device code.
    pub fn of(input: &DeviceInput) -> Self {
        Self {
            triple: input.triple.clone(),
            arch: input.arch.clone(),
            kind: input.kind,
        }
    }

    fn is_for(&self, target: &Target) -> bool {
        Target::parse(&self.triple, &self.arch).is_ok_and(|own| own == *target)
    }
}

/// `nvptx64.sm_90.img`; a CPU without a name leaves its place empty.
fn image_name(target: &Target) -> String {
    let triple = target.triple();
    let first = triple.split('-').next().unwrap_or(triple);
    let arch = match target.arch() {
        arch if arch == "generic" => String::new(),
        arch => arch,
    };
    format!("{first}.{arch}.img").replace(':', "-")
}

/// Names for extracted device code: that of the object and of the target, and a
/// number where objects of the same name meet.
#[derive(Default)]
struct InputNames(BTreeMap<String, usize>);

impl InputNames {
    fn of(&mut self, job: &Job, link: &DeviceLink, work_dir: &WorkDir) -> Vec<PathBuf> {
        let target = job.target.file_stem();
        link.inputs()
            .map(|input| {
                let stem = format!("{}-{target}", object_stem(&input.source));
                let uses = self.0.entry(stem.clone()).or_default();
                *uses += 1;
                let name = match *uses {
                    1 => format!("{stem}.o"),
                    number => format!("{stem}-{number}.o"),
                };
                work_dir.file(&name)
            })
            .collect()
    }
}

/// `m` of `dir/m.o` and of `libx.a(m.o)`.
fn object_stem(source: &str) -> String {
    let member = source.rsplit_once('(').map(|(_, member)| member);
    let file = member
        .and_then(|member| member.strip_suffix(')'))
        .unwrap_or(source);
    let stem = Path::new(file).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// ` "program" argument argument`, arguments quoted where a shell needs it.
fn line(program: &Path, arguments: Vec<OsString>) -> String {
    let mut line = format!(" \"{}\"", program.display());
    for argument in &arguments {
        line.push(' ');
        line += &quoted(argument);
    }
    line.push('\n');
    line
}

fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let special = |c: char| c.is_whitespace() || "\"'\\$`&;()<>|*?".contains(c);
    if text.is_empty() || text.contains(special) {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects() {
        assert_eq!(object_stem("a/x.o"), "x");
        assert_eq!(object_stem("lib/libx.a(m.cu.o)"), "m.cu");
        assert_eq!(object_stem("odd)"), "odd)");
    }

    #[test]
    fn names_of_images() {
        let name = |triple, arch| image_name(&Target::parse(triple, arch).unwrap());
        assert_eq!(name("nvptx64-nvidia-cuda", "sm_90a"), "nvptx64.sm_90a.img");
        assert_eq!(name("x86_64-unknown-linux-gnu", ""), "x86_64..img");
        assert_eq!(
            name("amdgcn-amd-amdhsa", "gfx90a:xnack+"),
            "amdgcn.gfx90a-xnack+.img"
        );
    }

    #[test]
    fn lines_are_quoted_where_a_shell_needs_it() {
        let arguments = ["-o", "a b", "it's", "-z=now"].map(OsString::from).to_vec();
        let printed = line(Path::new("/bin/ld"), arguments);
        assert_eq!(printed, " \"/bin/ld\" -o 'a b' 'it'\\''s' -z=now\n");
    }
}
