//! A service that was asked what it can do.

use crate::address::Service;
use crate::error::Error;
use crate::messages::{GetCapabilitiesRequest, SHA256, ServerCapabilities};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OnceCell};
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;

/// A connection to a service, which several threads may use.
#[derive(Debug)]
pub struct Client {
    pub(crate) service: Service,
    pub(crate) channel: Channel,
    pub(crate) metadata: MetadataMap,
    pub(crate) runtime: Runtime,
    /// One upload at a time, as actions have most of their files in common.
    pub(crate) uploads: Mutex<()>,
    limits: OnceCell<Limits>,
}

/// What the service can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// It is of version 2.1 or later.
    pub(crate) has_output_paths: bool,
    /// The most bytes of one call with several blobs.
    pub(crate) batch: u64,
}

/// The most bytes of a message unless other settings are made (gRPC's default),
/// less what stands around the blobs.
const USUAL_BATCH: u64 = (4 << 20) - (64 << 10);

impl Client {
    /// A client of the service, which is not talked to yet.
    ///
    /// # Errors
    /// [`Error`] when the settings make no sense.
    pub fn new(service: &Service) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("offlink-remote")
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let channel = {
            let _inside = runtime.enter();
            service.channel()?
        };
        Ok(Self {
            channel,
            metadata: service.metadata()?,
            service: service.clone(),
            runtime,
            uploads: Mutex::new(()),
            limits: OnceCell::new(),
        })
    }

    pub(crate) async fn limits(&self) -> Result<Limits, Error> {
        let limits = self.limits.get_or_try_init(|| self.ask_limits());
        limits.await.copied()
    }

    async fn ask_limits(&self) -> Result<Limits, Error> {
        const PATH: &str = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities";
        let call = async || {
            let request = GetCapabilitiesRequest {
                instance_name: self.service.instance.clone(),
            };
            self.unary::<_, ServerCapabilities>(PATH, request).await
        };
        let answer = self.retry(call).await;
        let found = answer.map_err(|status| self.failed("does not say what it can do", &status))?;
        let unfit = |reason| Error::Unfit {
            address: self.service.address.clone(),
            reason,
        };
        let execution = found.execution_capabilities.unwrap_or_default();
        if !execution.exec_enabled {
            return Err(unfit("stores results and executes nothing"));
        }
        let cache = found.cache_capabilities.unwrap_or_default();
        if !cache.digest_functions.contains(&SHA256) {
            return Err(unfit("does not take SHA-256 for its digests"));
        }
        let version = found.high_api_version.unwrap_or_default();
        let limit = cache.max_batch_total_size_bytes.cast_unsigned();
        Ok(Limits {
            has_output_paths: (version.major, version.minor) >= (2, 1),
            batch: match limit {
                0 => USUAL_BATCH,
                limit => limit.min(USUAL_BATCH),
            },
        })
    }
}
