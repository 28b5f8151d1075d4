//! The file that holds models, or statistics of rows: safetensors, with everything that is not an
//! array as JSON in its metadata.
//!
//! Files are written atomically: to a temporary file that is synced and renamed. They are read with
//! every length and number validated: no file makes the reader panic or gives a NaN.

use super::{FORMAT, OLDEST_FORMAT};
use crate::engine::Tensor;
use crate::error::{Error, Result};
use crate::file::{self, checksum};
use crate::memory;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The key of the metadata.
const KEY: &str = "raysum";

/// The value of [`KEY`]: the format first, which determines how the rest is read.
#[derive(Serialize, Deserialize)]
struct Envelope {
    format: u64,
    /// What the file holds.
    kind: String,
    /// Of the text of `content` and the bytes of all arrays.
    checksum: String,
    content: Box<RawValue>,
}

/// Errors in the bytes of a file.
pub(super) enum Problem {
    NotAModel,
    Format(u64),
    Kind(String),
    Damaged(String),
}

impl Problem {
    pub(super) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            Problem::NotAModel => Error::NotAModel { path },
            Problem::Format(found) => {
                Error::FormatVersion { path, found, oldest: OLDEST_FORMAT, newest: FORMAT }
            }
            // Files have called a shard a part since before it had its name.
            Problem::Kind(found) if found == super::SHARD => {
                Error::OtherFile { path, found: "shard".into() }
            }
            Problem::Kind(found) => Error::OtherFile { path, found },
            Problem::Damaged(detail) => Error::Damaged { path, detail },
        }
    }
}

impl From<Error> for Problem {
    fn from(e: Error) -> Self {
        Problem::Damaged(e.to_string())
    }
}

/// Writes content and arrays to one file, atomically: an older file of that name stays whole until
/// the new one is complete.
pub(super) fn write(
    path: &Path,
    kind: &str,
    content: &impl Serialize,
    tensors: Vec<Tensor>,
) -> Result<()> {
    let bytes = pack(kind, content, tensors);
    file::write(path, |out| out.write_all(&bytes))
        .map_err(|reason| Error::Io { path: path.to_owned(), reason })
}

/// The bytes of such a file.
pub(super) fn pack(kind: &str, content: &impl Serialize, tensors: Vec<Tensor>) -> Vec<u8> {
    let content = serde_json::value::to_raw_value(content).expect("plain data serialises");
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .into_iter()
        .map(|t| {
            let bytes = t.bytes();
            (t.name, t.shape, bytes)
        })
        .collect();
    let arrays = bytes.iter().map(|(name, _, bytes)| (name.as_str(), bytes.as_slice()));
    let checksum = checksum(content.get(), arrays.collect());
    let envelope = Envelope { format: FORMAT, kind: kind.into(), checksum, content };
    let json = serde_json::to_string(&envelope).expect("plain data serialises");
    let views = bytes.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F64, shape.clone(), bytes);
        (name, view.expect("the bytes were made for the shape"))
    });
    safetensors::serialize(views, Some(HashMap::from([(KEY.to_string(), json)])))
        .expect("names are unique and sizes fit")
}

/// Reads a file of [`write`], and converts its content.
pub(super) fn read<C: for<'a> Deserialize<'a>, T>(
    path: &Path,
    kind: &str,
    make: impl FnOnce(C, Vec<Tensor>) -> std::result::Result<T, Problem>,
) -> Result<T> {
    unpack(&read_bytes(path)?, path, kind, make)
}

/// The bytes of a file; only the first ones if those are not of such a file, to avoid reading a
/// large it is.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    /// The length of the header, and its first character.
    const START: usize = 9;
    /// Arrays are there as bytes, as numbers, by target, without prefix, and unpacked from halves.
    const COPIES: usize = 6;
    let io = |reason| Error::Io { path: path.to_owned(), reason };
    let file = file::check_name(path).and_then(|()| File::open(path));
    let mut file = file.map_err(io)?;
    let mut bytes = Vec::with_capacity(START);
    file.by_ref().take(START as u64).read_to_end(&mut bytes).map_err(io)?;
    if bytes.get(START - 1) == Some(&b'{') {
        let numbers = file.metadata().map_or(0, |file| file.len()) as usize / size_of::<f64>();
        let what = format_args!("reading {}", path.display());
        memory::require(what, memory::count(&[&[numbers, COPIES]]))?;
        file.read_to_end(&mut bytes).map_err(io)?;
    }
    Ok(bytes)
}

/// The same from bytes, which errors call by the name of `path`.
pub(super) fn unpack<C: for<'a> Deserialize<'a>, T>(
    bytes: &[u8],
    path: &Path,
    kind: &str,
    make: impl FnOnce(C, Vec<Tensor>) -> std::result::Result<T, Problem>,
) -> Result<T> {
    let parts = open::<C>(bytes, kind);
    parts.and_then(|(content, tensors)| make(content, tensors)).map_err(|problem| problem.at(path))
}

/// Content and arrays of bytes that are no file; the error says what is wrong with them.
pub(super) fn message<C: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    kind: &str,
) -> std::result::Result<(C, Vec<Tensor>), String> {
    open(bytes, kind).map_err(|problem| match problem {
        Problem::NotAModel => "it is not a message of raysum".into(),
        Problem::Format(found) => format!("its format is {found}"),
        Problem::Kind(found) => format!("it is of the kind '{found}'"),
        Problem::Damaged(detail) => detail,
    })
}

fn open<C: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    kind: &str,
) -> std::result::Result<(C, Vec<Tensor>), Problem> {
    let envelope = read_envelope(bytes)?;
    if envelope.kind != kind {
        return Err(Problem::Kind(envelope.kind));
    }
    let file = SafeTensors::deserialize(bytes)
        .map_err(|e| Problem::Damaged(format!("safetensors: {e}")))?;
    let views = file.tensors();
    let arrays = views.iter().map(|(name, view)| (name.as_str(), view.data()));
    if checksum(envelope.content.get(), arrays.collect()) != envelope.checksum {
        return Err(Problem::Damaged("its checksum is wrong".into()));
    }
    let content = serde_json::from_str(envelope.content.get())
        .map_err(|e| Problem::Damaged(format!("metadata: {e}")))?;
    let mut tensors = Vec::new();
    for (name, view) in views {
        tensors.push(read_tensor(name, &view)?);
    }
    Ok((content, tensors))
}

/// The JSON of the header. It is read before the arrays are, because a file that was cut off has
/// its header still: it can be told from a file that never was a model.
fn read_envelope(bytes: &[u8]) -> std::result::Result<Envelope, Problem> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "__metadata__")]
        metadata: HashMap<String, String>,
    }
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or(Problem::NotAModel)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Problem::NotAModel)?;
    if rest.first() != Some(&b'{') {
        return Err(Problem::NotAModel);
    }
    let Some(header) = rest.get(..length) else {
        let looks_like_one = String::from_utf8_lossy(&rest[..rest.len().min(200)]).contains(KEY);
        return Err(if looks_like_one {
            Problem::Damaged("it ends in the middle of its header".into())
        } else {
            Problem::NotAModel
        });
    };
    let header: Header = serde_json::from_slice(header).map_err(|_| Problem::NotAModel)?;
    let json = header.metadata.get(KEY).ok_or(Problem::NotAModel)?;
    let damaged = |e: serde_json::Error| Problem::Damaged(format!("metadata: {e}"));
    let version: Version = serde_json::from_str(json).map_err(damaged)?;
    if !(OLDEST_FORMAT..=FORMAT).contains(&version.format) {
        return Err(Problem::Format(version.format));
    }
    serde_json::from_str(json).map_err(damaged)
}

/// The same bytes with a correct checksum, if they have one: for fuzzers, which
/// would otherwise fail the check.
pub(super) fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let envelope = read_envelope(bytes).ok()?;
    let file = SafeTensors::deserialize(bytes).ok()?;
    let views = file.tensors();
    let arrays = views.iter().map(|(name, view)| (name.as_str(), view.data()));
    let right = checksum(envelope.content.get(), arrays.collect());
    let wrong = envelope.checksum.as_bytes();
    if wrong.len() != right.len() {
        return None;
    }
    let at = bytes.windows(wrong.len()).position(|w| w == wrong)?;
    let mut resealed = bytes.to_vec();
    resealed[at..at + right.len()].copy_from_slice(right.as_bytes());
    Some(resealed)
}

fn read_tensor(name: String, view: &TensorView<'_>) -> std::result::Result<Tensor, Problem> {
    if view.dtype() != Dtype::F64 {
        return Err(Problem::Damaged(format!("array '{name}' is not of 64-bit floats")));
    }
    let (chunks, _) = view.data().as_chunks::<8>();
    let values: Vec<f64> = chunks.iter().map(|c| f64::from_le_bytes(*c)).collect();
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Problem::Damaged(format!("array '{name}' holds a value that is not finite")));
    }
    Ok(Tensor { name, shape: view.shape().to_vec(), values })
}
