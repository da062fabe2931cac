//! A service behind TLS, with certificates of both sides and a key in a header: nginx
//! in front of buildbox-casd.

use std::process::{Child, Command, Stdio};

use crate::casd::{Casd, free_port, wait_for_port};
use crate::device_code::{NVIDIA, bitcode};
use crate::workbench::{Run, Workbench};

/// nginx, until the value ends.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its workers end with it.
        let sent = Command::new("kill").arg(self.0.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()));
        let _ = self.0.wait();
    }
}

/// Makes an authority `<name>-ca.pem`, and a certificate `<name>.pem` of it for
/// localhost with its key `<name>.key`.
fn certificate(bench: &Workbench, name: &str) {
    let openssl = |line: &str| {
        bench.command("openssl").args(line.split(' ')).succeeds();
    };
    openssl(&format!(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name}-ca \
         -keyout {name}-ca.key -out {name}-ca.pem"
    ));
    openssl(&format!(
        "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
    ));
    bench.write("extensions", "subjectAltName=DNS:localhost\n");
    openssl(&format!(
        "x509 -req -days 2 -in {name}.csr -CA {name}-ca.pem -CAkey {name}-ca.key \
         -CAcreateserial -extfile extensions -out {name}.pem"
    ));
}

fn proxy(bench: &Workbench, casd: &Casd) -> (Proxy, u16) {
    let port = free_port();
    let folder = bench.path("");
    let folder = folder.display();
    let configuration = bench.write(
        "nginx.conf",
        format!(
            "daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n\
             user root;\nevents {{}}\nhttp {{\naccess_log off;\n\
             client_body_temp_path {folder}/body;\nproxy_temp_path {folder}/proxy;\n\
             fastcgi_temp_path {folder}/fastcgi;\nuwsgi_temp_path {folder}/uwsgi;\n\
             scgi_temp_path {folder}/scgi;\nclient_max_body_size 0;\n\
             server {{\nlisten 127.0.0.1:{port} ssl http2;\n\
             ssl_certificate {folder}/server.pem;\nssl_certificate_key {folder}/server.key;\n\
             ssl_client_certificate {folder}/client-ca.pem;\nssl_verify_client on;\n\
             if ($http_x_key != 'secret') {{ return 403; }}\n\
             location / {{ grpc_pass grpc://127.0.0.1:{}; }}\n}}\n}}\n",
            casd.port
        ),
    );
    let process = bench
        .command("/usr/sbin/nginx")
        .arg("-c")
        .arg(configuration)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start nginx: {error}; run `make setup`"));
    wait_for_port(port);
    (Proxy(process), port)
}

#[test]
fn certificates_and_headers() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    certificate(&bench, "server");
    certificate(&bench, "client");
    let (_proxy, port) = proxy(&bench, &casd);
    let input = bitcode(&bench, "saxpy", NVIDIA);
    let link = |output: &str| {
        let mut command = bench.offlink();
        command
            .args(["link", "-o", output])
            .args(NVIDIA.arguments())
            .arg(&input);
        command
    };
    link("here").succeeds_silently();
    const OPTIONS: [&str; 4] = [
        "--remote-ca=server-ca.pem",
        "--remote-cert=client.pem",
        "--remote-key=client.key",
        "--remote-header=X-Key=secret",
    ];
    let remote = |output: &str, options: &[&str]| {
        let mut command = link(output);
        command
            .arg(format!("--remote=grpcs://localhost:{port}"))
            .arg("--remote-fallback=never")
            .args(options);
        command
    };
    remote("there", &OPTIONS).succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("an image");
    assert!(read("here") == read("there"));
    assert_eq!(casd.executed(), 1);

    let [ca, certificate, key, _] = OPTIONS;
    let refused = |options: &[&str], reason: &str| {
        let said = remote("never", options).fails_with(1);
        assert!(said.contains(reason), "{said}");
        assert!(!said.contains("secret"), "{said}");
    };
    refused(&[ca, certificate, key], "403 Forbidden");
    refused(
        &[ca, certificate, key, "--remote-header=x-key=public"],
        "403 Forbidden",
    );
    let of_other_authority = ["--remote-ca=client-ca.pem", certificate, key, OPTIONS[3]];
    refused(&of_other_authority, "invalid peer certificate");
    refused(&[ca, OPTIONS[3]], "localhost");
    // Without TLS nobody listens.
    let said = link("never")
        .arg(format!("--remote=grpc://localhost:{port}"))
        .arg("--remote-fallback=never")
        .fails_with(1);
    assert!(said.contains("does not say what it can do"), "{said}");
    assert_eq!(casd.executed(), 1);
}
