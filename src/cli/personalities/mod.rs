//! The command lines of the programs that offlink stands in for, one file
//! each. Those of whole links end in a [`crate::request::Request`].

pub mod cc;
pub mod clang_linker_wrapper;
pub mod guess;
pub mod ld;
pub mod lld_link;
pub mod peers;
