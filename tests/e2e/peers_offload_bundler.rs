//! offlink as clang-offload-bundler.

use crate::peers::Pair;
use crate::workbench::{Run, offlink};

const HOST: &str = "host-x86_64-unknown-linux-gnu";

fn hip(target: &str) -> String {
    format!("hip-amdgcn-amd-amdhsa--{target}")
}

fn pair() -> Pair {
    let pair = Pair::new("clang-offload-bundler-22");
    pair.write("host", "host!!");
    pair.write("a", "AAAA\n");
    pair.write("b", "BBBBB");
    pair.write("none", "");
    pair
}

#[test]
fn bundles_and_unbundles_every_type() {
    for kind in [
        "i", "ii", "cui", "hipi", "d", "ll", "bc", "s", "o", "gch", "ast",
    ] {
        let pair = pair();
        let targets = format!(
            "-type={kind} -targets={HOST},{},{}",
            hip("gfx906"),
            hip("gfx90a:xnack+")
        );
        pair.same(&format!(
            "{targets} -input=host -input=a -input b -output=bundle"
        ));
        pair.same(&format!(
            "{targets} -input=bundle -unbundle -output=1 -output=2 -output=3"
        ));
        assert_eq!(std::fs::read(pair.own("3")).expect("a part"), b"BBBBB");
        pair.same(&format!(
            "-type={kind} -targets={} -input=bundle --unbundle -output=other",
            hip("gfx90a:xnack+:sramecc-")
        ));
        pair.same(&format!(
            "-type={kind} -targets={HOST},{} -input=a -allow-missing-bundles -unbundle \
             -output=whole -output=nothing",
            hip("gfx90a")
        ));
    }
}

#[test]
fn lists_the_same_targets() {
    let pair = pair();
    for kind in ["s", "bc"] {
        pair.same(&format!(
            "-type={kind} -targets={HOST},{},hipv4-amdgcn-amd-amdhsa--gfx906 -inputs=host,a,b \
             -outputs=bundle",
            hip("gfx90a:sramecc-:xnack+")
        ));
        let lists = pair.same_code(&[], &format!("-type={kind} -list -input=bundle"));
        let [theirs, own] = lists.map(|list| {
            let mut lines: Vec<String> = list.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        });
        assert_eq!(theirs, own);
        assert_eq!(own.len(), 3);
    }
}

#[test]
fn ids_are_completed_as_the_peer_does() {
    let pair = pair();
    for id in [
        "hip-amdgcn-amd-amdhsa-",
        "hip-amdgcn-amd-amdhsa--",
        "hip-spirv64-amd-amdhsa--amdgcnspirv",
        "hip-amdgcn-amd-amdhsa-unknown-gfx906",
        "openmp-nvptx64-nvidia-cuda--sm_80",
        "openmp-x86_64-pc-linux-gnu",
    ] {
        pair.same(&format!(
            "-type=bc -targets={HOST},{id} -input=host -input=a -output=bundle"
        ));
    }
    // The peer takes the processor for an environment and drops it.
    pair.offlink("-type=bc -targets=hip-amdgcn-amd-amdhsa-gfx906 -input=a -output=bundle")
        .succeeds_silently();
    let listed = pair
        .offlink("-type=bc -list -input=bundle")
        .succeeds_silently();
    assert_eq!(listed.trim(), hip("gfx906"));
}

#[test]
fn aligned_and_compressed() {
    let pair = pair();
    let line = format!(
        "-type=o -targets={HOST},{} -input=none -input=a -output=",
        hip("gfx90a")
    );
    pair.same(&format!("{line}aligned -bundle-align=4096"));
    pair.same(&format!("{line}zstd -compress"));
    pair.same(&format!("{line}small -compress -compression-level=19"));
    let compress = ("OFFLOAD_BUNDLER_COMPRESS", "1");
    let level = ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "19");
    let version = ("COMPRESSED_BUNDLE_FORMAT_VERSION", "2");
    let ignored = ("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1");
    pair.same_with(&[compress, level], &format!("{line}by-variable"));
    pair.same_with(&[version], &format!("{line}version-2 -compress"));
    pair.same_with(&[compress, ignored], &format!("{line}plain"));
    for bundle in ["zstd", "version-2"] {
        pair.same(&format!(
            "-type=o -unbundle -targets={} -input={bundle} -output={bundle}.out",
            hip("gfx90a")
        ));
    }
}

#[test]
fn compressed_text() {
    for kind in ["i", "d", "ll", "s"] {
        let pair = pair();
        let targets = format!("-type={kind} -targets={HOST},{}", hip("gfx90a"));
        let bundle = format!("{targets} -input=host -input=a");
        let version = ("COMPRESSED_BUNDLE_FORMAT_VERSION", "2");
        pair.same(&format!("{bundle} -output=zstd -compress"));
        pair.same_with(&[version], &format!("{bundle} -output=version-2 -compress"));
        for bundle in ["zstd", "version-2"] {
            pair.same(&format!(
                "{targets} -unbundle -input={bundle} -output=1 -output=2"
            ));
            assert_eq!(std::fs::read(pair.own("2")).expect("a part"), b"AAAA\n");
        }
        let whole = std::fs::read(pair.own("zstd")).expect("a bundle");
        assert!(whole.starts_with(b"CCOB"), "{kind}");
        pair.write("cut", &whole[..whole.len() - 5]);
        pair.both_fail(
            &format!("{targets} -unbundle -input=cut -output=3 -output=4"),
            "truncated",
        );
    }
}

/// Each reads the other's host object with sections of device code.
#[test]
fn host_objects_with_sections() {
    let pair = pair();
    pair.write("host.c", "int main(void) { return 0; }");
    pair.bench
        .command("clang-22")
        .args(["-c", "own/host.c", "-o", "host.o"])
        .succeeds();
    pair.copy(pair.bench.path("host.o"), "host.o");
    let targets = format!("-type=o -targets={HOST},{}", hip("gfx90a"));
    let bundle = format!("{targets} -input=host.o -input=a -output=fat.o");
    let unbundle = format!("{targets} -unbundle -input=other.o -output=host.out -output=a.out");
    pair.peer(&bundle).succeeds();
    pair.offlink(&bundle).succeeds_silently();
    std::fs::copy(pair.theirs("fat.o"), pair.own("other.o")).expect("a copy");
    std::fs::copy(pair.own("fat.o"), pair.theirs("other.o")).expect("a copy");
    pair.peer(&unbundle).succeeds();
    pair.offlink(&unbundle).succeeds_silently();
    for out in [pair.theirs("a.out"), pair.own("a.out")] {
        assert_eq!(std::fs::read(out).expect("device code"), b"AAAA\n");
    }
    let program = pair.bench.path("program");
    for host in [
        pair.own("fat.o"),
        pair.own("host.out"),
        pair.theirs("host.out"),
    ] {
        pair.bench
            .command("cc")
            .arg(&host)
            .arg("-o")
            .arg(&program)
            .succeeds();
        pair.bench.program(&program).succeeds();
    }
    let listed = pair
        .offlink("-type=o -list -input=fat.o")
        .succeeds_silently();
    assert_eq!(listed, format!("{HOST}-\n{}\n", hip("gfx90a")));
}

#[test]
fn archives_of_bundles() {
    let pair = pair();
    let members = ["m1.o", "lib.x.bc"];
    for member in members {
        pair.same(&format!(
            "-type=bc -targets={HOST},{},{},openmp-nvptx64-nvidia-cuda--sm_80 -input=host \
             -input=a -input=b -input=a -output={member}",
            hip("gfx90a:xnack-"),
            hip("gfx906"),
        ));
    }
    for folder in ["own", "peer"] {
        pair.bench
            .command("llvm-ar-22")
            .current_dir(pair.bench.path(folder))
            .args(["rcsD", "lib.a", "m1.o", "lib.x.bc", "host"])
            .succeeds();
    }
    pair.same(&format!(
        "-type=a -unbundle -targets={},hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+,\
         openmp-nvptx64-nvidia-cuda--sm_80 -input=lib.a -output=1.a -output=2.a -output=3.a",
        hip("gfx906")
    ));
    let missing = format!(
        "-type=a -unbundle -targets={} -input=lib.a -output=no.a",
        hip("gfx1100")
    );
    pair.both_fail(&missing, "gfx1100");
    pair.same(&format!("{missing} -allow-missing-bundles"));
    pair.same(&format!(
        "-type=a -unbundle -check-input-archive -targets={} -input=lib.a -output=4.a",
        hip("gfx906")
    ));
    pair.both_fail(
        &format!("-type=a -targets={HOST} -input=a -output=x.a"),
        "archives",
    );
}

/// clang's drivers run it for HIP, and what they make is the same.
#[test]
fn driven_by_clang() {
    let pair = pair();
    pair.bench.folder("only-the-bundler");
    pair.bench
        .link("only-the-bundler/clang-offload-bundler", offlink());
    pair.bench.write(
        "kernel.hip",
        "typedef struct dim3 { unsigned x, y, z; } dim3;
         extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
         extern \"C\" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);
         __attribute__((global)) void kernel(int *p) { *p = 1; }\n",
    );
    let compile = |options: &[&str], more: &[&str], output: &str| {
        pair.bench
            .command("clang-22")
            .args([
                "-x",
                "hip",
                "-nogpuinc",
                "-nogpulib",
                "-cuid=unit",
                "-c",
                "-O1",
            ])
            .args(["--offload-arch=gfx90a", "--offload-arch=gfx906"])
            .args(["--no-offload-new-driver", "kernel.hip", "-o", output])
            .args(options)
            .args(more)
            .succeeds();
        std::fs::read(pair.bench.path(output)).expect("an output")
    };
    for options in [
        &["--offload-device-only"][..],
        &["--offload-device-only", "--offload-compress"],
        &[
            "--offload-device-only",
            "-fgpu-rdc",
            "-emit-llvm",
            "--gpu-bundle-output",
        ],
    ] {
        let theirs = compile(options, &[], "out");
        let own = compile(options, &["-B", "only-the-bundler"], "out");
        assert!(theirs == own, "{options:?}");
    }
    let rdc = ["-fgpu-rdc", "-B", "only-the-bundler"];
    compile(&rdc, &[], "own/fat.o");
    compile(&rdc[..1], &[], "peer/fat.o");
    let lists = pair.same_code(&[], "-type=o -list -input=fat.o");
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[1].lines().count(), 3, "{lists:?}");
}

/// No peer writes a bundle that fails this check, so one is made by hand.
#[test]
fn archives_with_conflicting_targets() {
    let pair = pair();
    pair.same(&format!(
        "-type=bc -targets={HOST},{},{} -inputs=host,a,b -outputs=bundle",
        hip("gfx90a:xnack+"),
        hip("gfx906:sramecc+")
    ));
    let bundle = std::fs::read(pair.own("bundle")).expect("a bundle");
    let text: String = bundle.iter().map(|byte| char::from(*byte)).collect();
    let conflicting: Vec<u8> = text
        .replace("gfx906", "gfx90a")
        .chars()
        .map(|letter| letter as u8)
        .collect();
    pair.write("m.bc", conflicting);
    for folder in ["own", "peer"] {
        pair.bench
            .command("llvm-ar-22")
            .current_dir(pair.bench.path(folder))
            .args(["rcsD", "lib.a", "m.bc"])
            .succeeds();
    }
    let line = format!(
        "-type=a -unbundle -targets={} -input=lib.a -output=out.a",
        hip("gfx90a:xnack+")
    );
    pair.same(&line);
    pair.both_fail(
        &format!("{line} -check-input-archive"),
        "different features",
    );
    let listed = pair
        .offlink("-type=a -list -input=lib.a")
        .succeeds_silently();
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

#[test]
fn options_that_change_nothing() {
    let pair = pair();
    pair.same(&format!(
        "-type=bc -targets={HOST},{} -inputs=host,a -outputs=bundle -verbose -### -print-options",
        hip("gfx906")
    ));
}

#[test]
fn prints_help_and_version_like_the_peer() {
    let pair = pair();
    for line in ["--help", "--help-hidden", "--help-list-hidden", "--version"] {
        let [_, own] = pair.same_code(&[], line);
        assert!(own.contains("offlink"), "{line}: {own}");
    }
}

#[test]
fn hip_for_openmp_where_that_is_allowed() {
    let pair = pair();
    pair.same(&format!(
        "-type=bc -targets={HOST},{} -inputs=host,a -outputs=bundle",
        hip("gfx906")
    ));
    let line = "-type=bc -targets=openmp-amdgcn-amd-amdhsa--gfx906 -unbundle -input=bundle \
                -output=out";
    pair.both_fail(line, "gfx906");
    pair.same(&format!("{line} -hip-openmp-compatible"));
}

#[test]
fn fails_as_the_peer_does() {
    let pair = pair();
    let two = format!("-targets={HOST},{}", hip("gfx906"));
    let conflict = format!("-targets={HOST},{},{}", hip("gfx90a"), hip("gfx90a:xnack+"));
    for (line, message) in [
        ("", "--type"),
        ("-type=exe -list -input=a", "'exe'"),
        (
            &*format!("-type=bc {two} -input=host -output=x"),
            "as many --input",
        ),
        (
            &format!("-type=bc {two} -input=host -input=nope -output=x"),
            "nope",
        ),
        (&format!("-type=bc {two} -input=host -input=a"), "--output"),
        (
            &format!("-type=bc {two} -input=host -input=a -output=x -output=y"),
            "--output",
        ),
        (
            &format!("-type=bc {conflict} -input=a -input=a -input=a -output=x"),
            "xnack",
        ),
        ("-type=bc -targets=wat-foo -input=a -output=x", "'wat-foo'"),
        (
            "-type=bc -targets=sycl-amdgcn-amd-amdhsa--gfx906 -input=a -output=x",
            "'sycl-",
        ),
        (
            "-type=bc -targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=a -output=x",
            "host",
        ),
        (
            &format!("-type=bc -targets={HOST},{HOST} -input=a -input=a -output=x"),
            "the same",
        ),
        ("-type=bc -input=a -output=x", "--targets"),
        ("-type=bc -list -unbundle -input=a", "together"),
        ("-type=bc -list", "exactly one --input"),
        (
            &format!("-type=bc -unbundle {two} -input=a -output=x"),
            "as many --output",
        ),
        (
            &format!("-type=bc -unbundle {two} -input=a -output=x -output=y"),
            "holds nothing",
        ),
        (
            &format!("-type=bc {two} -inputs=a,a -input=a -output=x"),
            "--inputs",
        ),
        ("-type=bc -input=a -nonsense", "-nonsense"),
    ] {
        pair.both_fail(line, message);
        assert!(!pair.own("x").exists(), "{line}");
    }
}
