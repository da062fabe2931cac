//! A client of the Remote Execution API, version 2: one command with all its input
//! files goes to a service, and its outputs come back.
//!
//! The API is `build/bazel/remote/execution/v2/remote_execution.proto` of
//! bazelbuild/remote-apis with `google/bytestream/bytestream.proto`; what is said here
//! about it is said there, if nothing else is named.

mod address;
mod client;
mod digest;
mod error;
mod execute;
mod grpc;
mod messages;
mod storage;
mod tree;

pub use address::Service;
pub use client::Client;
pub use digest::Digest;
pub use error::Error;
pub use execute::Outcome;
pub use tree::{Action, InputFile};
