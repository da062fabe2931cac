//! An action's result: from the action cache, or by a worker.

use crate::client::{Client, Limits};
use crate::digest::Digest;
use crate::error::Error;
use crate::grpc::{Enough, bad};
use crate::messages::{
    ActionResult, ExecuteRequest, ExecuteResponse, GetActionResultRequest, Operation,
};
use crate::storage::FetchError;
use crate::tree::{self, Action, Encoded};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use tonic::{Code, Status};

const LOOK_UP: &str = "/build.bazel.remote.execution.v2.ActionCache/GetActionResult";
const EXECUTE: &str = "/build.bazel.remote.execution.v2.Execution/Execute";

/// How often an action is sent anew because the service has lost files of it.
const SENDINGS: usize = 3;

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The command's exit code; 128 and more for a signal's.
    pub exit_code: i32,
    /// What the command wrote to stderr.
    pub stderr: Bytes,
    /// The outputs that it made, by path.
    pub outputs: BTreeMap<String, Bytes>,
    /// It was not run, as the service knew the result.
    pub is_cached: bool,
}

impl Client {
    /// The result of `action`. A command that fails gives a result, too. Several
    /// threads may call this.
    ///
    /// # Errors
    /// [`Error`] of the service.
    pub fn run(&self, action: &Action) -> Result<Outcome, Error> {
        self.runtime.block_on(self.result(action))
    }

    async fn result(&self, action: &Action) -> Result<Outcome, Error> {
        let limits = self.limits().await?;
        let platform = &self.service.platform;
        let encoded = tree::encode(action, platform, limits.has_output_paths);
        // A failure is not believed without another attempt, since some services keep
        // those as well (buildbox-casd's --cache-failures).
        let known = self.look_up(&encoded.action).await?;
        let is_known = known.is_some();
        if let Some(known) = known.filter(|result| result.exit_code == 0) {
            match self.outcome(&known, true).await {
                Err(error) if error.is_gone() => {}
                outcome => return outcome.map_err(|error| error.into_error(self)),
            }
        }
        let executed = self.execute(&encoded, limits, is_known).await?;
        let result = executed.result.unwrap_or_default();
        let outcome = self.outcome(&result, executed.cached_result).await;
        outcome.map_err(|error| error.into_error(self))
    }

    async fn look_up(&self, action: &Digest) -> Result<Option<ActionResult>, Error> {
        let call = async || {
            let request = GetActionResultRequest {
                instance_name: self.service.instance.clone(),
                action_digest: Some(action.to_message()),
                inline_stderr: true,
            };
            self.unary(LOOK_UP, request).await
        };
        match self.retry(call).await {
            Ok(result) => Ok(Some(result)),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(self.failed("does not look up results", &status)),
        }
    }

    /// Sends the action and has it run; with `anew` although its result is known.
    async fn execute(
        &self,
        encoded: &Encoded,
        limits: Limits,
        anew: bool,
    ) -> Result<ExecuteResponse, Error> {
        let mut sendings = 1;
        loop {
            self.send(&encoded.blobs, limits).await?;
            let call = async || self.execute_once(&encoded.action, anew).await;
            match self.retry(call).await {
                Ok(response) => return Ok(response),
                // Files of the action are not there any more.
                Err(status) if status.code() == Code::FailedPrecondition && sendings < SENDINGS => {
                    sendings += 1;
                }
                Err(status) => return Err(self.failed("does not run the link", &status)),
            }
        }
    }

    /// Asks for the action to be run and waits for its end. Who asks again, because
    /// the connection broke, gets the result of the first time if there is one.
    async fn execute_once(&self, action: &Digest, anew: bool) -> Result<ExecuteResponse, Status> {
        let request = ExecuteRequest {
            instance_name: self.service.instance.clone(),
            skip_cache_lookup: anew,
            action_digest: Some(action.to_message()),
        };
        let mut last: Option<Operation> = None;
        let take = |operation: Operation| {
            let enough = if operation.done {
                Enough::Yes
            } else {
                Enough::No
            };
            last = Some(operation);
            Ok(enough)
        };
        self.stream(EXECUTE, request, take).await?;
        let Some(operation) = last.filter(|operation| operation.done) else {
            return Err(Status::unavailable("the connection ended before the link"));
        };
        bad(operation.error.as_ref())?;
        let response = operation.response.unwrap_or_default().value;
        let response = ExecuteResponse::decode(response)
            .map_err(|error| Status::data_loss(error.to_string()))?;
        bad(response.status.as_ref())?;
        if response.result.is_none() {
            return Err(Status::data_loss("the answer holds no result"));
        }
        Ok(response)
    }

    async fn outcome(&self, result: &ActionResult, is_cached: bool) -> Result<Outcome, FetchError> {
        let mut outputs = BTreeMap::new();
        for file in &result.output_files {
            let digest = Digest::from_message(file.digest.as_ref().unwrap_or(&<_>::default()));
            let data = if file.contents.is_empty() {
                self.fetch(&digest).await?
            } else {
                self.checked(file.contents.clone(), &digest)?
            };
            outputs.insert(file.path.clone(), data);
        }
        let stderr = match &result.stderr_digest {
            Some(digest) if result.stderr_raw.is_empty() && digest.size_bytes > 0 => {
                self.fetch(&Digest::from_message(digest)).await?
            }
            _ => result.stderr_raw.clone(),
        };
        Ok(Outcome {
            exit_code: result.exit_code,
            stderr,
            outputs,
            is_cached,
        })
    }
}
