//! The messages of the services, as far as offlink sends or reads them: names and
//! numbers of fields are those of the `.proto` files. Fields that are left out are
//! passed over in what services send.

use bytes::Bytes;
use prost::Message;

/// `Digest`: what a blob is known by.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Message)]
pub struct Digest {
    #[prost(string, tag = "1")]
    pub hash: String,
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

/// `Platform.Property`, and `Command.EnvironmentVariable`, which has the same form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct Pair {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `Platform`: what the worker has to be like.
#[derive(Clone, PartialEq, Message)]
pub struct Platform {
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<Pair>,
}

/// `Command`.
#[derive(Clone, PartialEq, Message)]
pub struct Command {
    #[prost(string, repeated, tag = "1")]
    pub arguments: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    pub environment_variables: Vec<Pair>,
    /// Where outputs are named for services older than version 2.1.
    #[prost(string, repeated, tag = "3")]
    pub output_files: Vec<String>,
    /// Here for services older than version 2.2, as in [`Action`].
    #[prost(message, optional, tag = "5")]
    pub platform: Option<Platform>,
    #[prost(string, repeated, tag = "7")]
    pub output_paths: Vec<String>,
}

/// `Action`: a command and the files that it sees.
#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(message, optional, tag = "1")]
    pub command_digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub input_root_digest: Option<Digest>,
    #[prost(message, optional, tag = "10")]
    pub platform: Option<Platform>,
}

/// `FileNode`.
#[derive(Clone, PartialEq, Message)]
pub struct FileNode {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
}

/// `DirectoryNode`.
#[derive(Clone, PartialEq, Message)]
pub struct DirectoryNode {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
}

/// `Directory`.
#[derive(Clone, PartialEq, Message)]
pub struct Directory {
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<FileNode>,
    #[prost(message, repeated, tag = "2")]
    pub directories: Vec<DirectoryNode>,
}

/// `OutputFile`.
#[derive(Clone, PartialEq, Message)]
pub struct OutputFile {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "5")]
    pub contents: Bytes,
}

/// `ActionResult`.
#[derive(Clone, PartialEq, Message)]
pub struct ActionResult {
    #[prost(message, repeated, tag = "2")]
    pub output_files: Vec<OutputFile>,
    #[prost(int32, tag = "4")]
    pub exit_code: i32,
    #[prost(bytes = "bytes", tag = "7")]
    pub stderr_raw: Bytes,
    #[prost(message, optional, tag = "8")]
    pub stderr_digest: Option<Digest>,
}

/// `GetActionResultRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct GetActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<Digest>,
    #[prost(bool, tag = "4")]
    pub inline_stderr: bool,
}

/// `ExecuteRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct ExecuteRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(bool, tag = "3")]
    pub skip_cache_lookup: bool,
    #[prost(message, optional, tag = "6")]
    pub action_digest: Option<Digest>,
}

/// `ExecuteResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct ExecuteResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<ActionResult>,
    #[prost(bool, tag = "2")]
    pub cached_result: bool,
    #[prost(message, optional, tag = "3")]
    pub status: Option<Status>,
}

/// `google.longrunning.Operation`.
#[derive(Clone, PartialEq, Message)]
pub struct Operation {
    #[prost(bool, tag = "3")]
    pub done: bool,
    #[prost(message, optional, tag = "4")]
    pub error: Option<Status>,
    #[prost(message, optional, tag = "5")]
    pub response: Option<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

/// `FindMissingBlobsRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct FindMissingBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub blob_digests: Vec<Digest>,
}

/// `FindMissingBlobsResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub missing_blob_digests: Vec<Digest>,
}

/// `BatchUpdateBlobsRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub requests: Vec<BlobUpdate>,
}

/// `BatchUpdateBlobsRequest.Request`.
#[derive(Clone, PartialEq, Message)]
pub struct BlobUpdate {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
}

/// `BatchUpdateBlobsResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<BlobUpdated>,
}

/// `BatchUpdateBlobsResponse.Response`.
#[derive(Clone, PartialEq, Message)]
pub struct BlobUpdated {
    #[prost(message, optional, tag = "2")]
    pub status: Option<Status>,
}

/// `GetCapabilitiesRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct GetCapabilitiesRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
}

/// `ServerCapabilities`.
#[derive(Clone, PartialEq, Message)]
pub struct ServerCapabilities {
    #[prost(message, optional, tag = "1")]
    pub cache_capabilities: Option<CacheCapabilities>,
    #[prost(message, optional, tag = "2")]
    pub execution_capabilities: Option<ExecutionCapabilities>,
    #[prost(message, optional, tag = "5")]
    pub high_api_version: Option<SemVer>,
}

/// `CacheCapabilities`.
#[derive(Clone, PartialEq, Message)]
pub struct CacheCapabilities {
    #[prost(int32, repeated, tag = "1")]
    pub digest_functions: Vec<i32>,
    #[prost(int64, tag = "4")]
    pub max_batch_total_size_bytes: i64,
}

/// `DigestFunction.SHA256`.
pub const SHA256: i32 = 1;

/// `ExecutionCapabilities`.
#[derive(Clone, PartialEq, Message)]
pub struct ExecutionCapabilities {
    #[prost(bool, tag = "2")]
    pub exec_enabled: bool,
}

/// `build.bazel.semver.SemVer`.
#[derive(Clone, PartialEq, Message)]
pub struct SemVer {
    #[prost(int32, tag = "1")]
    pub major: i32,
    #[prost(int32, tag = "2")]
    pub minor: i32,
}

/// `google.bytestream.ReadRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
}

/// `google.bytestream.ReadResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(bytes = "bytes", tag = "10")]
    pub data: Bytes,
}

/// `google.bytestream.WriteRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
    #[prost(int64, tag = "2")]
    pub write_offset: i64,
    #[prost(bool, tag = "3")]
    pub finish_write: bool,
    #[prost(bytes = "bytes", tag = "10")]
    pub data: Bytes,
}

/// `google.bytestream.WriteResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub committed_size: i64,
}
