//! Which service, and how to get there.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tonic::metadata::{AsciiMetadataValue, MetadataKey, MetadataMap};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// How long a service is waited for until it accepts a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be quiet until the system asks the other machine whether it
/// is there, how often it asks, and how often without an answer.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// After this time the service itself is asked, which may hang. gRPC's servers end
/// connections that ask more often than every five minutes (gRPC's guide "Keepalive").
const PING: Duration = Duration::from_secs(330);

/// How long the answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(30);

/// A service, and what it wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// `grpc://HOST:PORT`, or `grpcs://HOST:PORT` for TLS.
    pub address: String,
    /// The name of its instance; empty for most.
    pub instance: String,
    /// What every call carries.
    pub headers: Vec<(String, String)>,
    /// The authority that its certificate is from, as PEM; else those of the system.
    pub ca: Option<PathBuf>,
    /// This side's certificate and private key, as PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// What the workers have to be like.
    pub platform: Vec<(String, String)>,
}

impl Service {
    /// The way to the service, which is not taken yet. To be called within a runtime.
    pub(crate) fn channel(&self) -> Result<Channel, Error> {
        let wrong = |reason: &str| Error::Address {
            address: self.address.clone(),
            reason: reason.into(),
        };
        let (scheme, rest) = match self.address.split_once("://") {
            Some(("grpc", rest)) => ("http", rest),
            Some(("grpcs", rest)) => ("https", rest),
            _ => {
                return Err(wrong(
                    "it is grpc://HOST:PORT, or grpcs://HOST:PORT for TLS",
                ));
            }
        };
        if scheme == "http" && (self.ca.is_some() || self.identity.is_some()) {
            return Err(wrong("certificates are for grpcs://"));
        }
        let endpoint = Endpoint::from_shared(format!("{scheme}://{rest}"))
            .map_err(|error| wrong(&error.to_string()))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Some(KEEP_ALIVE.0))
            .tcp_keepalive_interval(Some(KEEP_ALIVE.1))
            .tcp_keepalive_retries(Some(KEEP_ALIVE.2))
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(PING_TIMEOUT);
        let endpoint = if scheme == "https" {
            let tls = self.tls()?;
            endpoint
                .tls_config(tls)
                .map_err(|error| wrong(&cause(&error)))?
        } else {
            endpoint
        };
        Ok(endpoint.connect_lazy())
    }

    fn tls(&self) -> Result<ClientTlsConfig, Error> {
        let mut tls = ClientTlsConfig::new();
        tls = match &self.ca {
            Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
            None => tls.with_native_roots(),
        };
        if let Some((certificate, key)) = &self.identity {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(tls)
    }

    pub(crate) fn metadata(&self) -> Result<MetadataMap, Error> {
        let mut metadata = MetadataMap::new();
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            let key = MetadataKey::from_bytes(lower.as_bytes());
            // The value may be a secret.
            let (Ok(key), Ok(mut value)) = (key, value.parse::<AsciiMetadataValue>()) else {
                return Err(Error::Address {
                    address: self.address.clone(),
                    reason: format!("the header '{name}' has a name or value that HTTP forbids"),
                });
            };
            value.set_sensitive(true);
            metadata.append(key, value);
        }
        Ok(metadata)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Certificate {
        path: path.into(),
        source,
    })
}

/// The transport's errors say what they are about in their causes.
fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
