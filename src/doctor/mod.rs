//! What `offlink doctor` finds out: which tools a link would use, which devices
//! this machine has, and which image of a program runs on which of them.
//!
//! No runtime and no driver is loaded: what is known of devices comes of files
//! and of nvidia-smi, so that a broken driver breaks nothing here.

pub mod devices;
mod fit;
pub mod program;
mod runtime;
pub mod text;
pub mod tools;
