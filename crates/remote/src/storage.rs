//! The content-addressable storage: blobs go there and come back.

use crate::client::{Client, Limits};
use crate::digest::Digest;
use crate::error::Error;
use crate::grpc::{Enough, bad};
use crate::messages::{
    BatchUpdateBlobsRequest, BatchUpdateBlobsResponse, BlobUpdate, FindMissingBlobsRequest,
    FindMissingBlobsResponse, ReadRequest, ReadResponse, WriteRequest, WriteResponse,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use tonic::{Code, Status};

const FIND: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
const UPDATE: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
const WRITE: &str = "/google.bytestream.ByteStream/Write";
const READ: &str = "/google.bytestream.ByteStream/Read";

/// The bytes of one message of a stream.
const PIECE: usize = 1 << 20;

/// What stands around a blob in a call with several of them.
const AROUND: u64 = 128;

impl Client {
    /// Sends the blobs that the service lacks.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub(crate) async fn send(
        &self,
        blobs: &BTreeMap<Digest, Bytes>,
        limits: Limits,
    ) -> Result<(), Error> {
        let _turn = self.uploads.lock().await;
        let find = async || {
            let request = FindMissingBlobsRequest {
                instance_name: self.service.instance.clone(),
                blob_digests: blobs.keys().map(Digest::to_message).collect(),
            };
            let answer: FindMissingBlobsResponse = self.unary(FIND, request).await?;
            Ok(answer.missing_blob_digests)
        };
        let refused = |status: Status| self.failed("does not take the inputs", &status);
        let missing = self.retry(find).await.map_err(refused)?;
        let mut batch: Vec<BlobUpdate> = Vec::new();
        let mut size = 0;
        for digest in missing.iter().map(Digest::from_message) {
            // A service that asks for what nobody has would be told so by what follows.
            let Some(data) = blobs.get(&digest) else {
                continue;
            };
            let blob_size = digest.size() + AROUND;
            if blob_size > limits.batch {
                let write = async || self.write(&digest, data).await;
                self.retry(write).await.map_err(refused)?;
                continue;
            }
            if size + blob_size > limits.batch {
                self.send_batch(&batch).await.map_err(refused)?;
                (batch, size) = (Vec::new(), 0);
            }
            size += blob_size;
            batch.push(BlobUpdate {
                digest: Some(digest.to_message()),
                data: data.clone(),
            });
        }
        if !batch.is_empty() {
            self.send_batch(&batch).await.map_err(refused)?;
        }
        Ok(())
    }

    async fn send_batch(&self, batch: &[BlobUpdate]) -> Result<(), Status> {
        let update = async || {
            let request = BatchUpdateBlobsRequest {
                instance_name: self.service.instance.clone(),
                requests: batch.to_vec(),
            };
            let answer: BatchUpdateBlobsResponse = self.unary(UPDATE, request).await?;
            let mut statuses = answer.responses.iter().map(|one| one.status.as_ref());
            statuses.try_for_each(bad)
        };
        self.retry(update).await
    }

    async fn write(&self, digest: &Digest, data: &Bytes) -> Result<(), Status> {
        let name = self.resource(&format!("uploads/{}/blobs/{digest}", unique()));
        let data = data.clone();
        let size = data.len();
        let pieces = (0..size).step_by(PIECE).map(move |start| {
            let end = size.min(start + PIECE);
            WriteRequest {
                resource_name: if start == 0 {
                    name.clone()
                } else {
                    String::new()
                },
                write_offset: start as i64,
                finish_write: end == size,
                data: data.slice(start..end),
            }
        });
        let answer: WriteResponse = self.upload(WRITE, pieces).await?;
        if answer.committed_size.cast_unsigned() != digest.size() {
            let text = format!(
                "it took {} bytes of {}",
                answer.committed_size,
                digest.size()
            );
            return Err(Status::data_loss(text));
        }
        Ok(())
    }

    /// Gets a blob. The status `NotFound` says that the service has it no more.
    ///
    /// # Errors
    /// The call's status, and whether it was the bytes that were wrong.
    pub(crate) async fn fetch(&self, digest: &Digest) -> Result<Bytes, FetchError> {
        if *digest == Digest::of(b"") {
            return Ok(Bytes::new());
        }
        let read = async || {
            let request = ReadRequest {
                resource_name: self.resource(&format!("blobs/{digest}")),
            };
            let mut data = Vec::new();
            let add = |answer: ReadResponse| {
                data.extend_from_slice(&answer.data);
                Ok(if data.len() as u64 > digest.size() {
                    Enough::Yes
                } else {
                    Enough::No
                })
            };
            self.stream(READ, request, add).await?;
            Ok(Bytes::from(data))
        };
        let data = self.retry(read).await.map_err(FetchError::Status)?;
        self.checked(data, digest)
    }

    /// The bytes, if they are those of the digest.
    pub(crate) fn checked(&self, data: Bytes, digest: &Digest) -> Result<Bytes, FetchError> {
        if Digest::of(&data) == *digest {
            return Ok(data);
        }
        Err(FetchError::Damaged(Error::Damaged {
            address: self.service.address.clone(),
            digest: digest.to_string(),
        }))
    }

    fn resource(&self, name: &str) -> String {
        match &*self.service.instance {
            "" => name.into(),
            instance => format!("{instance}/{name}"),
        }
    }
}

/// A blob did not come.
pub(crate) enum FetchError {
    Status(Status),
    Damaged(Error),
}

impl FetchError {
    /// Whether the service does not have the blob any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Status(status) if status.code() == Code::NotFound)
    }

    pub(crate) fn into_error(self, client: &Client) -> Error {
        match self {
            Self::Status(status) => client.failed("does not send the outputs", &status),
            Self::Damaged(error) => error,
        }
    }
}

/// A name for an upload, in the form of a UUID of version 4, that no other has.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let text = format!("{} {now:?} {count}", std::process::id());
    let digest = Digest::of(text.as_bytes()).to_string();
    let part = |from: usize, to: usize| &digest[from..to];
    format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 15),
        part(15, 18),
        part(18, 30)
    )
}
