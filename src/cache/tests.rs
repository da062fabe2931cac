//! What the cache must survive.

use super::folder::{CONTENT, RECORDS};
use super::upkeep::{Limits, prune, stat, verify};
use super::*;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A cache, and how often it had something made.
struct Bench {
    dir: TempDir,
    makes: AtomicUsize,
}

fn key(value: &str) -> Key {
    let mut key = Key::default();
    key.add("input", value);
    key
}

impl Bench {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            makes: AtomicUsize::new(0),
        }
    }

    /// As another process would.
    fn cache(&self) -> Cache {
        Cache::open(self.dir.path(), Voice::default())
    }

    fn get(&self, input: &str) -> Made<String> {
        let made = self.get_or_fail(input, || {
            Ok::<_, Infallible>(Made {
                data: Bytes::from(format!("made of {input}")),
                details: format!("details of {input}"),
            })
        });
        made.unwrap_or_else(|never| match never {})
    }

    fn get_or_fail<E>(
        &self,
        input: &str,
        make: impl FnOnce() -> Result<Made<String>, E>,
    ) -> Result<Made<String>, E> {
        let key = key(input);
        let step = Step {
            key: &key,
            name: "step",
            owner: Digest::of(b"owner"),
        };
        let counted = || {
            self.makes.fetch_add(1, Ordering::Relaxed);
            make()
        };
        self.cache().get_or_make(&step, counted, || true)
    }

    fn makes(&self) -> usize {
        self.makes.swap(0, Ordering::Relaxed)
    }

    /// The only file of a part.
    fn file(&self, part: &str) -> PathBuf {
        let mut files = self.cache().folder.files(part);
        let (path, _) = files.pop().unwrap();
        assert!(files.is_empty());
        path
    }
}

#[test]
fn a_thing_is_made_once() {
    let bench = Bench::new();
    let first = bench.get("a");
    assert_eq!(first.data, "made of a");
    assert_eq!(bench.get("a"), first);
    assert_eq!(bench.makes(), 1);
    assert_eq!(bench.get("b").details, "details of b");
    assert_eq!(bench.makes(), 1);
}

#[test]
fn errors_are_not_kept() {
    let bench = Bench::new();
    let failed = bench.get_or_fail("a", || Err("no"));
    assert_eq!(failed, Err("no"));
    assert_eq!(bench.get("a").data, "made of a");
    assert_eq!(bench.makes(), 2);
}

#[test]
fn what_changed_meanwhile_is_not_kept() {
    let bench = Bench::new();
    let key = key("a");
    let step = Step {
        key: &key,
        name: "step",
        owner: Digest::of(b"owner"),
    };
    let make = || {
        Ok::<_, Infallible>(Made {
            data: Bytes::from("wrong"),
            details: String::new(),
        })
    };
    let made = bench.cache().get_or_make(&step, make, || false);
    assert_eq!(made.unwrap().data, "wrong");
    assert_eq!(bench.get("a").data, "made of a");
}

/// Each byte of each file: flipped, and cut off there.
#[test]
fn damage_is_found_put_aside_and_repaired() {
    for part in [RECORDS, CONTENT] {
        let bench = Bench::new();
        let right = bench.get("a");
        let path = bench.file(part);
        let sound = std::fs::read(&path).unwrap();
        bench.makes();
        for position in 0..sound.len() {
            let mut flipped = sound.clone();
            flipped[position] ^= 0x40;
            for damaged in [&flipped[..], &sound[..position]] {
                std::fs::write(&path, damaged).unwrap();
                assert_eq!(bench.get("a"), right);
                assert_eq!(bench.makes(), 1, "{part}, byte {position}");
                assert_eq!(std::fs::read(&path).unwrap(), sound);
            }
        }
        assert_eq!(stat(bench.dir.path()).unwrap().quarantined, 1);
    }
}

#[test]
fn a_record_under_another_name_is_none() {
    let bench = Bench::new();
    bench.get("a");
    let folder = &bench.cache().folder;
    let other = folder.record(&key("b").digest());
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    std::fs::copy(folder.record(&key("a").digest()), other).unwrap();
    assert_eq!(bench.get("b").data, "made of b");
}

#[test]
fn verify_finds_what_is_damaged() {
    let bench = Bench::new();
    bench.get("a");
    let found = verify(bench.dir.path()).unwrap();
    assert_eq!((found.right, found.damaged), (1, vec![]));
    let path = bench.file(CONTENT);
    std::fs::write(&path, "other").unwrap();
    let found = verify(bench.dir.path()).unwrap();
    assert_eq!((found.right, found.damaged), (0, vec![path]));
    assert_eq!(stat(bench.dir.path()).unwrap().entries, 0);
}

#[test]
fn equal_work_at_the_same_time_is_done_once() {
    let bench = Bench::new();
    thread::scope(|scope| {
        let others: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    bench.get_or_fail("a", || {
                        thread::sleep(Duration::from_millis(50));
                        Ok::<_, Infallible>(Made {
                            data: Bytes::from("made"),
                            details: String::new(),
                        })
                    })
                })
            })
            .collect();
        for other in others {
            assert_eq!(other.join().unwrap().unwrap().data, "made");
        }
    });
    assert_eq!(bench.makes(), 1);
}

/// Two writers without locks, as on some network file systems.
#[test]
fn of_different_results_the_first_is_kept() {
    let bench = Bench::new();
    let right = bench.get("a");
    let late = Made {
        data: Bytes::from("other"),
        details: String::new(),
    };
    let cache = bench.cache();
    cache.store(&key("a"), &key("a").digest(), &late).unwrap();
    assert_eq!(bench.get("a"), right);
    assert_eq!(bench.makes(), 1);
}

#[test]
fn pruning_goes_by_last_use() {
    let bench = Bench::new();
    for input in ["a", "b", "c"] {
        bench.get(input);
    }
    let folder = bench.cache().folder;
    let age = |input: &str, hours: u64| {
        let path = folder.record(&key(input).digest());
        let used = SystemTime::now() - Duration::from_secs(hours * 3600);
        File::open(path).unwrap().set_modified(used).unwrap();
    };
    age("a", 3);
    age("b", 2);
    age("c", 1);
    // Used again, and so the youngest.
    bench.get("a");
    assert_eq!(bench.makes(), 3);

    let limits = |max_size, hours: Option<u64>| Limits {
        max_size,
        max_age: hours.map(|hours| Duration::from_secs(hours * 3600 + 1800)),
    };
    let dir = bench.dir.path();
    assert_eq!(prune(dir, limits(None, Some(2))).unwrap().entries, 0);
    assert_eq!(prune(dir, limits(None, Some(1))).unwrap().entries, 1);
    let all = stat(dir).unwrap();
    assert_eq!(all.entries, 2);
    let pruned = prune(dir, limits(Some(all.bytes - 1), None)).unwrap();
    assert_eq!(pruned.entries, 1);
    assert_eq!(stat(dir).unwrap().bytes, all.bytes - pruned.bytes);
    assert_eq!(bench.get("a").data, "made of a");
    assert_eq!(bench.makes(), 0);
    assert_eq!(prune(dir, limits(Some(0), None)).unwrap().entries, 1);
    assert!(folder.files(CONTENT).is_empty());
}

/// As from the future after the clock was set back.
#[test]
fn times_to_come_are_now() {
    let bench = Bench::new();
    bench.get("a");
    let later = SystemTime::now() + Duration::from_secs(10_000_000);
    let path = bench.file(RECORDS);
    File::open(path).unwrap().set_modified(later).unwrap();
    let limits = Limits {
        max_age: Some(Duration::from_secs(60)),
        ..Limits::default()
    };
    assert_eq!(prune(bench.dir.path(), limits).unwrap().entries, 0);
    assert_eq!(stat(bench.dir.path()).unwrap().oldest_use, Some(0));
}

/// Links and pruners at once: what a link gets is right, whoever removes what.
#[test]
fn pruning_while_others_read_and_write() {
    let bench = Bench::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for number in 0..200 {
                    let input = format!("{}", number % 5);
                    assert_eq!(bench.get(&input).data, format!("made of {input}"));
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                let limits = Limits {
                    max_size: Some(0),
                    ..Limits::default()
                };
                let _ = prune(bench.dir.path(), limits);
            }
        });
    });
}

#[test]
fn what_a_killed_writer_left_is_removed_later() {
    let bench = Bench::new();
    bench.get("a");
    let path = bench.file(RECORDS).with_file_name(".offlink-abc");
    std::fs::write(&path, "half a rec").unwrap();
    assert_eq!(stat(bench.dir.path()).unwrap().entries, 1);
    prune(bench.dir.path(), Limits::default()).unwrap();
    assert!(path.exists());
    let old = SystemTime::now() - Duration::from_secs(3600);
    File::open(&path).unwrap().set_modified(old).unwrap();
    prune(bench.dir.path(), Limits::default()).unwrap();
    assert!(!path.exists());
    assert_eq!(bench.get("a").data, "made of a");
    assert_eq!(bench.makes(), 1);
}

/// No folder can be made below a file.
#[test]
fn without_a_folder_things_are_made_all_the_same() {
    let bench = Bench::new();
    let file = bench.dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let cache = Cache::open(&file, Voice::default());
    let key = key("a");
    let step = Step {
        key: &key,
        name: "step",
        owner: Digest::of(b"owner"),
    };
    for _ in 0..2 {
        let made = cache.get_or_make(
            &step,
            || {
                Ok::<_, Infallible>(Made {
                    data: Bytes::from("made"),
                    details: String::new(),
                })
            },
            || true,
        );
        assert_eq!(made.unwrap().data, "made");
    }
    assert!(stat(&file).is_err());
}
