//! What the compiler needs to know of `core`, as a crate.
#![feature(auto_traits, intrinsics, lang_items, no_core, rustc_attrs)]
#![allow(internal_features)]
#![no_core]

#[path = "../../../hello-gpu/kernel/lang.rs"]
mod items;
pub use items::*;
