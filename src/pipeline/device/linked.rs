//! Bitcode that LLVM has linked, which all targets with the same bitcode share.

use offlink_llvm::{Error, Library, Linked, Module, Options, link};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What was linked so far.
#[derive(Default)]
pub(super) struct LinkedModules {
    slots: Mutex<Vec<Slot>>,
}

/// One list of modules, linked once.
struct Slot {
    modules: Vec<Module>,
    options: Options,
    linked: Arc<OnceLock<Result<Linked, Arc<Error>>>>,
}

impl LinkedModules {
    /// Links `modules`, or waits for the one who does; and whether it was this call that did.
    ///
    /// # Errors
    /// Those of [`link`], for all that want the same.
    pub(super) fn get_or_link(
        &self,
        library: &'static Library,
        modules: Vec<Module>,
        options: &Options,
    ) -> (Result<Linked, Arc<Error>>, bool) {
        let slot = self.slot(&modules, options);
        let mut is_first = false;
        let linked = slot.get_or_init(|| {
            is_first = true;
            link(library, modules, options).map_err(Arc::new)
        });
        (linked.clone(), is_first)
    }

    fn slot(
        &self,
        modules: &[Module],
        options: &Options,
    ) -> Arc<OnceLock<Result<Linked, Arc<Error>>>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots.iter().find(|slot| slot.is_for(modules, options));
        if let Some(found) = found {
            return Arc::clone(&found.linked);
        }
        let linked = Arc::default();
        slots.push(Slot {
            modules: modules.to_vec(),
            options: options.clone(),
            linked: Arc::clone(&linked),
        });
        linked
    }
}

impl Slot {
    fn is_for(&self, modules: &[Module], options: &Options) -> bool {
        self.options.link_alike(options)
            && self.modules.len() == modules.len()
            && self
                .modules
                .iter()
                .zip(modules)
                .all(|(own, other)| is_same(own, other))
    }
}

/// Whether it is the same input. Copies of it share its bytes, so that nobody has to look at these.
fn is_same(own: &Module, other: &Module) -> bool {
    own.name == other.name
        && own.bitcode.as_ptr() == other.bitcode.as_ptr()
        && own.bitcode.len() == other.bitcode.len()
}
