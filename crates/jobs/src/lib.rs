//! Jobs, several at a time: as many as the jobserver of the cargo or make that
//! started the process allows, and without one as many as there are cores.

use jobserver::{Acquired, Client, HelperThread};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{LazyLock, OnceLock};
use std::thread;

/// The jobserver that the environment names (`CARGO_MAKEFLAGS`, `MAKEFLAGS`), in
/// the protocol of GNU make 4.4.
static JOBSERVER: LazyLock<Option<Client>> = LazyLock::new(|| {
    // SAFETY: where the environment names file descriptors, the process has
    // inherited them, and nothing in it closes what it did not open. If make has
    // kept them to itself, the check sees that the numbers, if they are in use at
    // all, are no pipes.
    unsafe { Client::from_env_ext(true) }.client.ok()
});

/// Does `work` with each item, and returns the results in the items' order, up to
/// the first error.
///
/// At most `limit` run at a time. Without a limit each but one waits for a token of
/// the jobserver, or, if there is none, they are as many as the process has cores.
///
/// # Errors
/// That of the first item, in their order, whose work failed.
pub fn map<T, R, E>(
    items: &[T],
    limit: Option<NonZeroUsize>,
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send + Sync,
    E: Send + Sync,
{
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<Result<R, E>>> = items.iter().map(|_| OnceLock::new()).collect();
    let run = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(result)) = (items.get(position), results.get(position)) else {
                break;
            };
            result.get_or_init(|| work(position, item));
        }
    };
    match tokens(items.len(), limit) {
        Some((requests, tokens)) => thread::scope(|scope| {
            scope.spawn(|| {
                for token in tokens {
                    scope.spawn(|| {
                        run();
                        drop(token);
                    });
                }
            });
            run();
            // No item is left to begin: what is still asked for is not wanted.
            drop(requests);
        }),
        None => thread::scope(|scope| {
            let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            for _ in 1..limit.unwrap_or_else(cores).get().min(items.len()) {
                scope.spawn(run);
            }
            run();
        }),
    }
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}

/// Asks the jobserver for a token for each of `count` jobs but the first, which
/// has the one that the process was started with. Nothing if there is no jobserver
/// to ask.
fn tokens(
    count: usize,
    limit: Option<NonZeroUsize>,
) -> Option<(HelperThread, Receiver<io::Result<Acquired>>)> {
    let jobserver = match (&*JOBSERVER, limit) {
        (Some(jobserver), None) if count > 1 => jobserver.clone(),
        _ => return None,
    };
    let (sender, receiver) = mpsc::channel();
    let requests = jobserver.into_helper_thread(move |token| {
        // Nobody listens any more once all is done.
        let _ = sender.send(token);
    });
    let requests = requests.ok()?;
    for _ in 1..count {
        requests.request_token();
    }
    Some((requests, receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_and_the_first_error_wins() {
        let items: Vec<usize> = (0..100).collect();
        let squares = map(&items, None, |position, item| {
            assert_eq!(position, *item);
            Ok::<_, ()>(item * item)
        });
        assert_eq!(squares.unwrap()[99], 9801);
        let odd = |_, item: &usize| if item % 2 == 1 { Err(*item) } else { Ok(()) };
        assert_eq!(map(&items, NonZeroUsize::new(3), odd), Err(1));
        assert_eq!(map(&[], None, odd), Ok(vec![]));
    }

    #[test]
    fn the_limit_is_kept() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items = [(); 20];
        let result = map(&items, NonZeroUsize::new(2), |_, ()| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, ()>(())
        });
        assert_eq!(result.map(|done| done.len()), Ok(20));
        assert_eq!(most.into_inner(), 2);
    }
}
