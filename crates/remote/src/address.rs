//! Which service, and how to get there.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tonic::metadata::{AsciiMetadataValue, MetadataKey, MetadataMap};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// How long a service is waited for until it accepts a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be quiet until the system asks whether the other side
/// still lives. HTTP/2's own pings would end the connection: gRPC's servers allow one
/// in five minutes.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

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
            .tcp_keepalive(Some(KEEP_ALIVE));
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
