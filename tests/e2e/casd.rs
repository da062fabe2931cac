//! buildbox-casd, a service of the Remote Execution API whose workers see an action's
//! inputs and nothing else.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::workbench::{Workbench, repository};

/// A running service; it ends with the value.
pub struct Casd {
    process: Child,
    pub port: u16,
    folder: PathBuf,
    log: PathBuf,
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// Waits until `condition` holds.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until somebody listens on the port.
pub fn wait_for_port(port: u16) {
    wait_for("nobody listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
}

impl Casd {
    /// A service that executes actions.
    pub fn start(bench: &Workbench) -> Casd {
        let runner = repository().join(".tools/buildbox/buildbox-run");
        let runner = format!("--buildbox-run={}", runner.display());
        Casd::start_with(bench, &[&runner, "--jobs=2"])
    }

    /// A service with these settings.
    pub fn start_with(bench: &Workbench, arguments: &[&str]) -> Casd {
        let folder = repository().join(".tools/buildbox");
        let port = free_port();
        let log = bench.path(format!("casd-{port}.log"));
        let storage = bench.path(format!("casd-{port}"));
        let path = std::env::var("PATH").expect("a PATH");
        let process = bench
            .command(folder.join("buildbox-casd"))
            // It looks for its other programs there.
            .env("PATH", format!("{}:{path}", folder.display()))
            .arg(format!("--bind=127.0.0.1:{port}"))
            .args(["--log-level=info", "--shutdown-deadline=5"])
            .args(arguments)
            .arg(&storage)
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a log"))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start buildbox-casd: {error}; run `make setup`")
            });
        wait_for_port(port);
        let folder = storage.canonicalize().expect("the storage");
        Casd {
            process,
            port,
            folder,
            log,
        }
    }

    pub fn address(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// Changes a byte of the blob with these contents, where the service keeps it.
    pub fn spoil(&self, contents: &[u8]) {
        let mut folders = vec![self.folder.join("cas")];
        let mut spoilt = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read(&path).is_ok_and(|found| found == contents) {
                    let mut other = contents.to_owned();
                    other[contents.len() / 2] ^= 1;
                    let mut permissions = path.metadata().expect("a file").permissions();
                    permissions.set_mode(0o644);
                    std::fs::set_permissions(&path, permissions).expect("a file of ours");
                    std::fs::write(&path, other).expect("a file that can be written");
                    spoilt += 1;
                }
            }
        }
        assert!(spoilt > 0, "the service has no such blob");
    }

    /// How many actions have been executed.
    pub fn executed(&self) -> usize {
        let log = std::fs::read(&self.log).expect("the log");
        let log = String::from_utf8_lossy(&log);
        log.matches("Runner exited with code").count()
    }

    /// Ends the service and all that it runs, at once.
    pub fn kill(&mut self) {
        self.signal("KILL");
        // It stages inputs by FUSE, and can't unmount them any more.
        let mounts = std::fs::read_to_string("/proc/mounts").expect("the mounts");
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        for place in places.filter(|place| Path::new(place).starts_with(&self.folder)) {
            let unmounted = Command::new("umount").args(["-l", place]).status();
            assert!(unmounted.expect("umount").success(), "{place}");
        }
    }

    fn signal(&mut self, name: &str) {
        let group = format!("-{}", self.process.id());
        let sent = Command::new("kill")
            .args(["-s", name, "--", &group])
            .status();
        assert!(sent.expect("kill").success(), "no process {group}");
        self.process.wait().expect("its end");
    }
}

impl Drop for Casd {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // So that it unmounts what it has mounted.
            self.signal("TERM");
        }
    }
}
