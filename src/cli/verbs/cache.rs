//! `offlink cache`: looking after the cache of device images.

use crate::cache::upkeep::{self, Limits, Pruned, Stat, UpkeepError, Verified};
use crate::options::{Choice, Options};
use crate::{Error, cache, report};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Look after the cache of device images.
///
/// It is the one of --cache-dir or OFFLINK_CACHE_DIR, or else that in cargo's target
/// directory of the package in the current folder.
#[derive(Debug, clap::Args)]
pub struct Cache {
    #[command(subcommand)]
    task: Task,
    /// The cache's folder
    #[arg(long, global = true, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Say what is in it
    Stat,
    /// Compare all that is in it with its digests, and put aside what is damaged; the
    /// exit code is 1 then
    Verify,
    /// Remove entries that were not used for long
    Prune(Prune),
}

#[derive(Debug, clap::Args)]
struct Prune {
    /// The most bytes to keep, such as 500M or 2G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// The longest time since an entry was used, such as 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_age: Option<Duration>,
}

impl Cache {
    pub(super) fn run(self, options: &Options) -> Result<ExitCode, Error> {
        let choice = self.cache_dir.map(Choice::Named);
        let choice = choice.unwrap_or_else(|| options.cache_dir.clone());
        let dir = cache::in_project(&choice).ok_or(UpkeepError::NoneNamed)?;
        let mut is_good = true;
        let text = match self.task {
            Task::Stat => output(self.json, &upkeep::stat(&dir)?, stat_text)?,
            Task::Verify => {
                let verified = upkeep::verify(&dir)?;
                is_good = verified.damaged.is_empty();
                output(self.json, &verified, verified_text)?
            }
            Task::Prune(Prune { max_size, max_age }) => {
                let limits = if max_size.is_none() && max_age.is_none() {
                    upkeep::LIMITS
                } else {
                    Limits { max_size, max_age }
                };
                output(self.json, &upkeep::prune(&dir, limits)?, pruned_text)?
            }
        };
        report::print(&text)?;
        Ok(ExitCode::from(u8::from(!is_good)))
    }
}

fn output<T: Serialize>(json: bool, value: &T, text: fn(&T) -> String) -> Result<String, Error> {
    if json {
        return report::json(value);
    }
    Ok(text(value))
}

fn stat_text(stat: &Stat) -> String {
    let oldest = stat.oldest_use.map_or_else(String::new, |seconds| {
        let hours = seconds / 3600;
        format!("longest unused: {hours} hours\n")
    });
    format!(
        "folder: {}\nentries: {}\nsize: {} bytes\n{oldest}damaged files put aside: {}\n",
        stat.folder.display(),
        stat.entries,
        stat.bytes,
        stat.quarantined
    )
}

fn verified_text(verified: &Verified) -> String {
    let damaged = verified.damaged.iter();
    let lines: String = damaged
        .map(|path| format!("damaged, put aside: {}\n", path.display()))
        .collect();
    format!("{lines}right entries: {}\n", verified.right)
}

fn pruned_text(pruned: &Pruned) -> String {
    format!(
        "removed {} entries, {} bytes\n",
        pruned.entries, pruned.bytes
    )
}

/// `500M` in bytes; the letters stand for powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let units = [
        ('K', 1 << 10),
        ('M', 1 << 20),
        ('G', 1 << 30),
        ('T', 1 << 40),
    ];
    number(text, &units)
        .ok_or_else(|| "a size is a number of bytes, or one with K, M, G or T".into())
}

/// `12h` as a time.
fn time(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let seconds = number(text, &units);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "a time is a number of seconds, or one with s, m, h or d".into())
}

fn number(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, factor) = match unit {
        Some((letter, factor)) => (text.strip_suffix(*letter)?, *factor),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("2K"), Ok(2048));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "K", "-1", "1.5G", "99999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(time("1w").is_err());
    }
}
