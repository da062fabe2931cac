//! Calls: each is repeated while the service is out of reach.

use crate::client::Client;
use crate::error::{Error, line};
use crate::messages;
use http::uri::PathAndQuery;
use prost::Message;
use std::time::Duration;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// How often a call is made again, and the first pause before that, which doubles.
const RETRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How long a call may take that sends and gets little.
const DEADLINE: Duration = Duration::from_secs(60);

/// The most bytes of an answer. Services send blobs in pieces of a few MiB at most.
const MOST: usize = 64 << 20;

impl Client {
    fn grpc(&self) -> Grpc<Channel> {
        Grpc::new(self.channel.clone()).max_decoding_message_size(MOST)
    }

    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.metadata.clone();
        request
    }

    /// A call with one message each way.
    pub(crate) async fn unary<A, B>(&self, path: &'static str, message: A) -> Result<B, Status>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let mut request = self.request(message);
        request.set_timeout(DEADLINE);
        let mut grpc = self.ready().await?;
        let codec = ProstCodec::<A, B>::default();
        let path = PathAndQuery::from_static(path);
        Ok(grpc.unary(request, path, codec).await?.into_inner())
    }

    /// A call with one message there and a stream of them back, of which `each` takes
    /// one after the other until it has enough.
    pub(crate) async fn stream<A, B>(
        &self,
        path: &'static str,
        message: A,
        mut each: impl FnMut(B) -> Result<Enough, Status>,
    ) -> Result<(), Status>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let mut grpc = self.ready().await?;
        let codec = ProstCodec::<A, B>::default();
        let path = PathAndQuery::from_static(path);
        let answer = grpc.server_streaming(self.request(message), path, codec);
        let mut answers = answer.await?.into_inner();
        while let Some(message) = answers.message().await? {
            if each(message)? == Enough::Yes {
                break;
            }
        }
        Ok(())
    }

    /// A call with a stream of messages there and one back.
    pub(crate) async fn upload<A, B>(
        &self,
        path: &'static str,
        messages: impl Iterator<Item = A> + Send + 'static,
    ) -> Result<B, Status>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let mut grpc = self.ready().await?;
        let codec = ProstCodec::<A, B>::default();
        let path = PathAndQuery::from_static(path);
        let request = self.request(tokio_stream::iter(messages));
        let answer = grpc.client_streaming(request, path, codec).await?;
        Ok(answer.into_inner())
    }

    async fn ready(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = self.grpc();
        let ready = grpc.ready().await;
        ready.map_err(|error| Status::from_error(Box::new(error)))?;
        Ok(grpc)
    }

    /// Makes a call, and again after pauses while the service can't be reached or
    /// has too much to do.
    pub(crate) async fn retry<T>(
        &self,
        call: impl AsyncFn() -> Result<T, Status>,
    ) -> Result<T, Status> {
        let mut pause = FIRST_PAUSE;
        for _ in 0..RETRIES {
            match call().await {
                Err(status) if is_passing(status.code()) => {}
                outcome => return outcome,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        call().await
    }

    /// The error that `status` is; `what` says what the service did not do.
    pub(crate) fn failed(&self, what: &'static str, status: &Status) -> Error {
        Error::Service {
            address: self.service.address.clone(),
            what,
            reason: line(status),
        }
    }
}

/// Whether there is more of a stream to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enough {
    Yes,
    No,
}

/// The codes of what may be over soon. Connections that break are `Unknown` or
/// `Internal` to tonic 0.14, depending on what was going on.
fn is_passing(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::Cancelled
    )
}

/// `google.rpc.Status`, which is in answers, as a call's status; nothing if all is well.
pub(crate) fn bad(status: Option<&messages::Status>) -> Result<(), Status> {
    match status {
        Some(status) if status.code != 0 => {
            Err(Status::new(Code::from_i32(status.code), &*status.message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;
    use std::cell::Cell;

    /// How often a call is made that fails `failures` times with `code`, and whether it
    /// works out.
    fn calls(code: Code, failures: u32) -> (u32, bool) {
        let client = Client::new(&Service {
            address: "grpc://localhost:1".into(),
            ..Service::default()
        })
        .unwrap();
        let made = Cell::new(0);
        let call = async || {
            made.set(made.get() + 1);
            if made.get() <= failures {
                Err(Status::new(code, ""))
            } else {
                Ok(())
            }
        };
        let outcome = client.runtime.block_on(client.retry(call));
        (made.get(), outcome.is_ok())
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        assert_eq!(calls(Code::Unavailable, 2), (3, true));
        assert_eq!(calls(Code::Unavailable, 99), (1 + RETRIES, false));
        assert_eq!(calls(Code::NotFound, 2), (1, false));
        assert_eq!(calls(Code::Unauthenticated, 2), (1, false));
    }
}
