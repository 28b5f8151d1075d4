//! Opens files, compressed or plain, so that they can be read more than once, and detects their
//! format from the first bytes.

use crate::compression::Compression;
use crate::csv::read_error;
use crate::messages::escaped;
use anyhow::{Result, anyhow, bail};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Content of a pipe above this size is put into a temporary file.
const SMALL_BYTES: u64 = 1 << 26;
const PARQUET_MAGIC: &[u8] = b"PAR1";
const ARROW_MAGIC: &[u8] = b"ARROW1";
/// The first bytes of an Arrow stream.
const STREAM_MAGIC: [u8; 4] = [0xff; 4];
const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// The source of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputPath {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl InputPath {
    /// A path as given on the command line, where `-` is standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if path == Path::new("-") { Self::Stdin } else { Self::Path(path.to_owned()) }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => escaped(&path.display().to_string()),
            Self::Stdin => "standard input".to_owned(),
        }
    }
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text.
    Csv,
    /// A NumPy array.
    Npy,
    /// Parquet.
    #[cfg(feature = "arrow")]
    Parquet,
    /// An Arrow IPC file, also known as Feather.
    #[cfg(feature = "arrow")]
    ArrowFile,
    /// An Arrow IPC stream.
    #[cfg(feature = "arrow")]
    ArrowStream,
}

/// A file that can be read again from its start.
pub(crate) struct Input {
    name: String,
    bytes: Bytes,
}

enum Bytes {
    File(PathBuf),
    /// Standard input, which can be read once.
    Stdin,
    Memory(Vec<u8>),
    /// A file without a name.
    Spooled(File),
}

impl Bytes {
    /// Stores the content of a pipe, which cannot be read twice.
    fn kept(mut pipe: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        pipe.by_ref().take(SMALL_BYTES).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < SMALL_BYTES {
            return Ok(Self::Memory(bytes));
        }
        let mut file = tempfile::tempfile()?;
        file.write_all(&bytes)?;
        drop(bytes);
        io::copy(&mut pipe, &mut file)?;
        Ok(Self::Spooled(file))
    }
}

impl Input {
    /// A source that is read once: standard input is streamed.
    pub(crate) fn once(place: &InputPath) -> Result<Self> {
        let name = place.name();
        match place {
            InputPath::Stdin => Ok(Self { name, bytes: Bytes::Stdin }),
            InputPath::Path(_) => Self::open(place),
        }
    }

    /// Checks that a source exists, and reads it immediately if it is a pipe.
    pub(crate) fn open(place: &InputPath) -> Result<Self> {
        let name = place.name();
        let cannot = |error: &io::Error| anyhow!("{name} cannot be read: {error}");
        let bytes = match place {
            InputPath::Stdin => Bytes::kept(io::stdin().lock()).map_err(|error| cannot(&error))?,
            InputPath::Path(path) => match path.metadata() {
                Ok(metadata) if metadata.is_dir() => {
                    bail!("{name} is a directory, not a table")
                }
                Ok(metadata) if metadata.is_file() => Bytes::File(path.clone()),
                Ok(_) => File::open(path).and_then(Bytes::kept).map_err(|error| cannot(&error))?,
                Err(error) if error.kind() == ErrorKind::NotFound => bail!("{name} does not exist"),
                Err(error) => return Err(cannot(&error)),
            },
        };
        Ok(Self { name, bytes })
    }

    pub(crate) fn from_bytes(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self { name: name.to_owned(), bytes: Bytes::Memory(bytes.as_ref().to_owned()) }
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its format.
    pub(crate) fn format(&self) -> Result<Format> {
        if matches!(self.bytes, Bytes::Stdin) && self.compression()? != Compression::None {
            // Peeking would consume the start; compressed input from a pipe is taken for text.
            return Ok(Format::Csv);
        }
        let mut stream = self.stream()?;
        let start = stream.fill_buf().map_err(|error| read_error(&self.name, 0, &error))?;
        let is = |magic: &[u8]| start.starts_with(magic);
        if is(NPY_MAGIC) {
            return Ok(Format::Npy);
        }
        #[cfg(feature = "arrow")]
        {
            let formats = [
                (PARQUET_MAGIC, Format::Parquet),
                (ARROW_MAGIC, Format::ArrowFile),
                (&STREAM_MAGIC, Format::ArrowStream),
            ];
            if let Some((_, format)) = formats.into_iter().find(|(magic, _)| is(magic)) {
                return Ok(format);
            }
        }
        #[cfg(not(feature = "arrow"))]
        if is(PARQUET_MAGIC) || is(ARROW_MAGIC) || is(&STREAM_MAGIC) {
            bail!("{}: this build of raysum reads no Parquet or Arrow files", self.name);
        }
        Ok(Format::Csv)
    }

    /// The size of the file, if it is one and not compressed.
    pub(crate) fn size(&self) -> Option<u64> {
        if matches!(self.bytes, Bytes::Stdin) {
            return None;
        }
        let plain = self.compression().ok()? == Compression::None;
        match &self.bytes {
            Bytes::File(path) if plain => path.metadata().ok().map(|metadata| metadata.len()),
            Bytes::Spooled(file) if plain => file.metadata().ok().map(|metadata| metadata.len()),
            Bytes::Memory(bytes) if plain => Some(bytes.len() as u64),
            _ => None,
        }
    }

    /// The file itself, if it is one and not compressed.
    #[cfg(feature = "arrow")]
    pub(crate) fn file(&self) -> Option<io::Result<File>> {
        let plain = self.compression().ok()? == Compression::None;
        match &self.bytes {
            Bytes::File(path) if plain => Some(File::open(path)),
            Bytes::Spooled(file) if plain => Some(from_start(file)),
            _ => None,
        }
    }

    /// The decompressed bytes.
    pub(crate) fn stream(&self) -> Result<Box<dyn BufRead + '_>> {
        // Detected first: standard input cannot be locked twice.
        let compression = self.compression()?;
        let raw = self.raw()?;
        Ok(match compression {
            Compression::None => raw,
            Compression::Gzip => {
                Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(raw)))
            }
            Compression::Zstd => {
                let decoder =
                    zstd::Decoder::with_buffer(raw).map_err(|error| self.cannot(&error))?;
                Box::new(BufReader::with_capacity(1 << 16, decoder))
            }
        })
    }

    fn cannot(&self, error: &io::Error) -> anyhow::Error {
        anyhow!("{} cannot be read: {error}", self.name)
    }

    /// Its compression, detected without consuming input.
    fn compression(&self) -> Result<Compression> {
        self.raw()?.fill_buf().map(Compression::of).map_err(|error| self.cannot(&error))
    }

    fn buffered(&self, file: io::Result<File>) -> Result<Box<dyn BufRead>> {
        let file = file.map_err(|error| self.cannot(&error))?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    /// The raw bytes.
    fn raw(&self) -> Result<Box<dyn BufRead + '_>> {
        Ok(match &self.bytes {
            Bytes::Memory(bytes) => Box::new(&bytes[..]),
            Bytes::Stdin => Box::new(io::stdin().lock()),
            Bytes::File(path) => self.buffered(File::open(path))?,
            Bytes::Spooled(file) => self.buffered(from_start(file))?,
        })
    }
}

/// The same file, from its start. The position is shared: only one reader at a time.
fn from_start(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(InputPath::new("-"), InputPath::Stdin);
        assert_eq!(InputPath::new("-").name(), "standard input");
        assert_eq!(InputPath::new("a/b.csv").name(), "a/b.csv");
        assert_eq!(InputPath::new("a\u{1b}[2J.csv").name(), r"a\u{1b}[2J.csv");
    }

    #[test]
    fn sources_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: PathBuf| match Input::open(&InputPath::Path(path)) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        let name = folder.path().display();
        assert_eq!(open(folder.path().to_owned()), format!("{name} is a directory, not a table"));
        assert_eq!(open(folder.path().join("x.csv")), format!("{name}/x.csv does not exist"));
        std::fs::write(folder.path().join("y.csv"), "1").unwrap();
        let below = open(folder.path().join("y.csv/z.csv"));
        assert!(below.starts_with(&format!("{name}/y.csv/z.csv cannot be read: ")), "{below}");
    }
}
