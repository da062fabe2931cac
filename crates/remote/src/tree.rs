//! An action: a command and its input files as a tree of digests.

use crate::digest::Digest;
use crate::messages::{self, Directory, DirectoryNode, FileNode, Pair, Platform};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;

/// A command, and all files that it may see.
#[derive(Clone, Debug, Default)]
pub struct Action {
    /// The command line. A first word with a slash is a path below the root.
    pub arguments: Vec<String>,
    /// The files below the root, in whose folder the command runs, by paths with slashes.
    pub inputs: BTreeMap<String, InputFile>,
    /// The files that the command makes, by their paths below the root.
    pub outputs: Vec<String>,
}

/// A file that a command sees.
#[derive(Clone, Debug)]
pub struct InputFile {
    data: Bytes,
    digest: Digest,
    is_executable: bool,
}

impl InputFile {
    /// A file that is read.
    pub fn data(data: Bytes) -> Self {
        let digest = Digest::of(&data);
        Self {
            data,
            digest,
            is_executable: false,
        }
    }

    /// A program or library, whose SHA-256 may be known by its hexadecimal digits.
    pub fn program(data: Bytes, hash: Option<&str>) -> Self {
        let digest = match hash {
            Some(hash) => Digest::known(hash, data.len()),
            None => Digest::of(&data),
        };
        Self {
            data,
            digest,
            is_executable: true,
        }
    }
}

/// An action as services know it: by digest, with the blobs that it leads to.
pub(crate) struct Encoded {
    pub(crate) action: Digest,
    pub(crate) blobs: BTreeMap<Digest, Bytes>,
}

/// The messages of `action`. `platform` is what the worker has to be like;
/// `has_output_paths` says that the service is of version 2.1 or later.
pub(crate) fn encode(
    action: &Action,
    platform: &[(String, String)],
    has_output_paths: bool,
) -> Encoded {
    let mut blobs = BTreeMap::new();
    let root = directory(&action.inputs, "", &mut blobs);
    let mut outputs = action.outputs.clone();
    outputs.sort();
    let (output_paths, output_files) = if has_output_paths {
        (outputs, Vec::new())
    } else {
        (Vec::new(), outputs)
    };
    let platform = (!platform.is_empty()).then(|| {
        let property = |(name, value): &(String, String)| Pair {
            name: name.clone(),
            value: value.clone(),
        };
        let mut properties: Vec<Pair> = platform.iter().map(property).collect();
        properties.sort();
        Platform { properties }
    });
    let command = messages::Command {
        arguments: action.arguments.clone(),
        environment_variables: Vec::new(),
        output_files,
        output_paths,
        platform: platform.clone(),
    };
    let command = add(&command, &mut blobs);
    let action = messages::Action {
        command_digest: Some(command.to_message()),
        input_root_digest: Some(root.to_message()),
        platform,
    };
    let action = add(&action, &mut blobs);
    Encoded { action, blobs }
}

/// Adds the message to the blobs.
fn add(message: &impl Message, blobs: &mut BTreeMap<Digest, Bytes>) -> Digest {
    let data = Bytes::from(message.encode_to_vec());
    let digest = Digest::of(&data);
    blobs.insert(digest.clone(), data);
    digest
}

/// Adds the directory `prefix`, which ends with a slash or is empty, and all below
/// it. Nodes are sorted by name, as the paths are among which only those of one
/// folder are looked at.
fn directory(
    files: &BTreeMap<String, InputFile>,
    prefix: &str,
    blobs: &mut BTreeMap<Digest, Bytes>,
) -> Digest {
    let mut message = Directory::default();
    let mut folders = BTreeMap::new();
    let below = files.range(prefix.to_owned()..);
    for (path, file) in below.take_while(|(path, _)| path.starts_with(prefix)) {
        match path[prefix.len()..].split_once('/') {
            Some((folder, _)) => {
                folders.insert(folder, ());
            }
            None => {
                message.files.push(FileNode {
                    name: path[prefix.len()..].into(),
                    digest: Some(file.digest.to_message()),
                    is_executable: file.is_executable,
                });
                blobs.insert(file.digest.clone(), file.data.clone());
            }
        }
    }
    for folder in folders.into_keys() {
        let digest = directory(files, &format!("{prefix}{folder}/"), blobs);
        message.directories.push(DirectoryNode {
            name: folder.into(),
            digest: Some(digest.to_message()),
        });
    }
    add(&message, blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> InputFile {
        InputFile::data(Bytes::from_static(text.as_bytes()))
    }

    /// A directory's message has its nodes in the order of their names, whatever
    /// stands between their paths.
    #[test]
    fn directories_are_canonical() {
        let paths = ["a/b/x", "a.x", "a/c", "a-b/x", "b"];
        let inputs = paths.map(|path| (path.to_owned(), file(path)));
        let mut blobs = BTreeMap::new();
        let root = directory(&inputs.into(), "", &mut blobs);
        let root = Directory::decode(blobs[&root].clone()).unwrap();
        let names: Vec<&str> = root.files.iter().map(|node| &*node.name).collect();
        assert_eq!(names, ["a.x", "b"]);
        let names: Vec<&str> = root.directories.iter().map(|node| &*node.name).collect();
        assert_eq!(names, ["a", "a-b"]);
        let a = Digest::from_message(root.directories[0].digest.as_ref().unwrap());
        let a = Directory::decode(blobs[&a].clone()).unwrap();
        assert_eq!((&*a.files[0].name, &*a.directories[0].name), ("c", "b"));
        // Five contents, four directories.
        assert_eq!(blobs.len(), 9);
    }

    #[test]
    fn what_decides_is_in_the_digest() {
        let action = Action {
            arguments: vec!["./x".into()],
            inputs: BTreeMap::from([("x".into(), file("x"))]),
            outputs: vec!["o".into()],
        };
        let digest = |action: &Action, platform: &[(String, String)]| {
            encode(action, platform, true).action.to_string()
        };
        let first = digest(&action, &[]);
        assert_eq!(digest(&action.clone(), &[]), first);
        let mut program = action.clone();
        program
            .inputs
            .insert("x".into(), InputFile::program("x".into(), None));
        let mut output = action.clone();
        output.outputs = vec!["p".into()];
        let linux = [("OSFamily".to_owned(), "linux".to_owned())];
        for other in [
            digest(&program, &[]),
            digest(&output, &[]),
            digest(&action, &linux),
            encode(&action, &[], false).action.to_string(),
        ] {
            assert_ne!(other, first);
        }
    }
}
