//! The cache around the steps of device links.

use super::key::{self, Stage};
use super::remarks::Remark;
use super::{Context, DeviceError, Linked};
use crate::cache::{self, Cache, Digest, Key, Made, Programs, Step, Voice};
use crate::files;
use crate::options::{Choice, Options};
use crate::pipeline::plan::DeviceLink;
use crate::pipeline::work_dir::WorkDir;
use crate::report;
use crate::target::Target;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The cache of one link.
#[derive(Debug)]
pub(super) struct ImageCache {
    cache: Cache,
    programs: Programs,
    /// What the link makes, with its folder, so that the next link of it is known.
    output: PathBuf,
}

/// What is kept beside the bytes of a step: what else it gave, and what was said.
#[derive(Debug, Serialize, Deserialize)]
struct Details<D> {
    result: D,
    remarks: Vec<Remark>,
}

impl ImageCache {
    /// The cache of the link that makes `output`; `None` if it has none.
    pub(super) fn of_link(options: &Options, output: &Path, work_dir: &WorkDir) -> Option<Self> {
        // Where the output lies declares no cache.
        let is_declared = options.cache_dir != Choice::Found;
        let dir = cache::of_link(&options.cache_dir, output);
        let dir = dir.filter(|_| is_declared || !options.device.tools.is_hermetic());
        let unused = match &dir {
            None => "none is in use; --offlink-cache-dir=DIR names one",
            Some(_) if work_dir.is_kept() => "not in use, as what is made on the way is wanted",
            Some(_) => "",
        };
        let dir = dir.filter(|_| unused.is_empty());
        if dir.is_none() && options.explain_cache {
            report::note(&format!("cache: {unused}"));
        }
        let voice = Voice {
            trouble: options.verbose,
            reasons: options.explain_cache,
        };
        let dir = dir?;
        files::intermediate(&dir);
        let cache = Cache::open(&dir, voice);
        Some(Self {
            programs: cache.programs(),
            output: std::path::absolute(output).unwrap_or_else(|_| output.into()),
            cache,
        })
    }

    /// What knows the programs of the link.
    #[cfg(feature = "remote")]
    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// To be called when the link's images are made.
    pub(super) fn tidy(&self) {
        self.cache.tidy();
    }
}

/// What `make` gives for this stage of `link`, or what it gave before.
///
/// # Errors
/// Those of `make`.
pub(super) fn get_or_make(
    stage: Stage,
    target: &Target,
    link: &DeviceLink,
    context: &Context<'_>,
    make: impl FnOnce() -> Result<Linked, DeviceError>,
) -> Result<Linked, DeviceError> {
    let name = target.to_string();
    let made = get_or_make_step(stage, &name, target, link, context, || {
        let Linked { data, symbols } = make()?;
        Ok(Made {
            data,
            details: symbols,
        })
    })?;
    Ok(Linked {
        data: made.data,
        symbols: made.details,
    })
}

/// The whole image of `link`, if the cache has it.
pub(super) fn get(target: &Target, link: &DeviceLink, context: &Context<'_>) -> Option<Linked> {
    let ImageCache {
        cache,
        programs,
        output,
    } = context.setting.cache.as_ref()?;
    let key = key::key(Stage::Image, target, link, context, programs).ok()?;
    let name = target.to_string();
    let made = cache.get(&step(Stage::Image, &name, &key, link, output))?;
    let Details { result, remarks } = made.details;
    remarks
        .into_iter()
        .for_each(|remark| context.remarks.add(remark));
    Some(Linked {
        data: made.data,
        symbols: result,
    })
}

/// The step, as one of the link that makes `output`.
fn step<'a>(
    stage: Stage,
    name: &'a str,
    key: &'a Key,
    link: &DeviceLink,
    output: &Path,
) -> Step<'a> {
    let form = format!("{stage:?} {:?} {name}", link.options.emit);
    Step {
        key,
        name,
        owner: Digest::of_list([output.as_os_str().as_bytes(), form.as_bytes()]),
    }
}

/// As [`get_or_make`], for a step called `name` that gives more than bytes.
///
/// # Errors
/// Those of `make`.
pub(super) fn get_or_make_step<D: Serialize + DeserializeOwned>(
    stage: Stage,
    name: &str,
    target: &Target,
    link: &DeviceLink,
    context: &Context<'_>,
    make: impl FnOnce() -> Result<Made<D>, DeviceError>,
) -> Result<Made<D>, DeviceError> {
    let Some(ImageCache {
        cache,
        programs,
        output,
    }) = &context.setting.cache
    else {
        return make();
    };
    let key = match key::key(stage, target, link, context, programs) {
        Ok(key) => key,
        Err(reason) => {
            cache.passed_over(name, &reason.to_string());
            return make();
        }
    };
    let step = step(stage, name, &key, link, output);
    let mut was_made = false;
    let Made { data, details } = cache.get_or_make(
        &step,
        || {
            was_made = true;
            let Made { data, details } = make()?;
            let details = Details {
                result: details,
                remarks: context.remarks.all(),
            };
            Ok::<_, DeviceError>(Made { data, details })
        },
        || {
            let now = key::key(stage, target, link, context, &cache.programs());
            let is_same_llvm = link.bitcode.is_empty() || context.setting.has_opened_llvm_by_name();
            is_same_llvm && now.is_ok_and(|now| now == key)
        },
    )?;
    if !was_made {
        for remark in details.remarks {
            context.remarks.add(remark);
        }
    }
    Ok(Made {
        data,
        details: details.result,
    })
}
