//! Opens files, compressed or plain, so that they can be read more than once, and tells their format
//! by how they start.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use flate2::bufread::MultiGzDecoder;

use super::records::{Records, line_ends, not_csv, read_error};
use super::{ReadOptions, Source, detect};

/// How much of a file's start is looked at to find its delimiter.
const HEAD_BYTES: u64 = 1 << 20;
/// What comes through a pipe and is larger than this goes into a temporary file.
const SMALL_BYTES: u64 = 1 << 26;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const PARQUET_MAGIC: &[u8] = b"PAR1";
const ARROW_MAGIC: &[u8] = b"ARROW1";
/// How a message of Arrow's streams starts.
const STREAM_MAGIC: [u8; 4] = [0xff; 4];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Text.
    Csv,
    /// Parquet.
    #[cfg(feature = "arrow")]
    Parquet,
    /// Arrow's IPC file, which is Feather's too.
    #[cfg(feature = "arrow")]
    ArrowFile,
    /// Arrow's IPC stream.
    #[cfg(feature = "arrow")]
    ArrowStream,
}

/// A file that can be read again from its start.
pub(super) struct Input {
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
    /// Keeps what comes through a pipe, which cannot be read twice.
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
    /// A source that will be read once only: standard input as it comes.
    pub(super) fn once(source: &Source) -> Result<Self> {
        let name = source.name();
        match source {
            Source::Stdin => Ok(Self { name, bytes: Bytes::Stdin }),
            Source::Path(_) => Self::open(source),
        }
    }

    /// Checks that a source is there, and reads it now if it is a pipe.
    pub(super) fn open(source: &Source) -> Result<Self> {
        let name = source.name();
        let cannot = |error: &io::Error| anyhow!("{name} cannot be read: {error}");
        let bytes = match source {
            Source::Stdin => Bytes::kept(io::stdin().lock()).map_err(|error| cannot(&error))?,
            Source::Path(path) => match path.metadata() {
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

    pub(super) fn from_bytes(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self { name: name.to_owned(), bytes: Bytes::Memory(bytes.as_ref().to_owned()) }
    }

    /// How messages call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Starts to read the records from the first one on.
    pub(super) fn records(&self, options: &ReadOptions) -> Result<Records<'_>> {
        let mut stream = self.stream()?;
        let mut head = Vec::new();
        let read = stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(|error| read_error(&self.name, line_ends(&head, b'\n'), &error))?;
        if head.contains(&0) {
            return Err(not_csv(&self.name));
        }
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        let terminator =
            if head.contains(&b'\r') && !head.contains(&b'\n') { b'\r' } else { b'\n' };
        let delimiter = options.delimiter.unwrap_or_else(|| {
            // The last line may be incomplete, but a first line longer than the head has to do.
            let whole = head.iter().rposition(|byte| *byte == terminator);
            detect::delimiter(whole.map_or(&head[..], |end| &head[..=end]), terminator)
        });
        Ok(Records::new(
            Box::new(Cursor::new(head).chain(stream)),
            &self.name,
            delimiter,
            terminator,
        ))
    }

    /// What is in it.
    pub(super) fn format(&self) -> Result<Format> {
        if matches!(self.bytes, Bytes::Stdin) && self.compression()? != Compression::None {
            // Looking inside would take the start away; what comes compressed through a pipe is text.
            return Ok(Format::Csv);
        }
        let mut stream = self.stream()?;
        let start = stream.fill_buf().map_err(|error| read_error(&self.name, 0, &error))?;
        let is = |magic: &[u8]| start.starts_with(magic);
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

    /// The file itself, if it is one and not compressed.
    #[cfg(feature = "arrow")]
    pub(super) fn file(&self) -> Option<io::Result<File>> {
        let plain = self.compression().ok()? == Compression::None;
        match &self.bytes {
            Bytes::File(path) if plain => Some(File::open(path)),
            Bytes::Spooled(file) if plain => Some(from_start(file)),
            _ => None,
        }
    }

    /// The decompressed bytes.
    pub(super) fn stream(&self) -> Result<Box<dyn BufRead + '_>> {
        // Looked at first: standard input cannot be held twice.
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

    /// How it is compressed: nothing is taken away by looking.
    fn compression(&self) -> Result<Compression> {
        self.raw()?.fill_buf().map(Compression::of).map_err(|error| self.cannot(&error))
    }

    fn buffered(&self, file: io::Result<File>) -> Result<Box<dyn BufRead>> {
        let file = file.map_err(|error| self.cannot(&error))?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    /// The bytes as they are.
    fn raw(&self) -> Result<Box<dyn BufRead + '_>> {
        Ok(match &self.bytes {
            Bytes::Memory(bytes) => Box::new(&bytes[..]),
            Bytes::Stdin => Box::new(io::stdin().lock()),
            Bytes::File(path) => self.buffered(File::open(path))?,
            Bytes::Spooled(file) => self.buffered(from_start(file))?,
        })
    }
}

/// The same file from its start on. The place is shared: one reader at a time.
fn from_start(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// How bytes are compressed, by how they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(start: &[u8]) -> Self {
        if start.starts_with(&GZIP_MAGIC) {
            Self::Gzip
        } else if start.starts_with(&ZSTD_MAGIC) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::write::GzEncoder;

    use super::super::records::Record;
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn all(bytes: impl AsRef<[u8]>) -> Result<Vec<Vec<String>>> {
        let input = Input::from_bytes("t.csv", bytes);
        let mut records = input.records(&ReadOptions::default())?;
        let mut record = Record::default();
        let mut all = Vec::new();
        while records.next(&mut record)? {
            all.push(record.fields().map(str::to_owned).collect());
        }
        Ok(all)
    }

    #[test]
    fn every_kind_of_file_reads_the_same() {
        let plain = b"a,b\n1,2\n";
        let twice = [gzip(b"a,b\n"), gzip(b"1,2\n")].concat();
        let zstd = zstd::encode_all(&plain[..], 3).unwrap();
        let cases: [&[u8]; 8] = [
            plain,
            b"\xef\xbb\xbfa,b\n1,2\n",
            b"\xef\xbb\xbf\"a\",b\r\n1,2\r\n",
            b"a,b\r1,2\r",
            &gzip(plain),
            &gzip(b"\xef\xbb\xbfa,b\r\n1,2\r\n"),
            &twice,
            &zstd,
        ];
        for bytes in cases {
            assert_eq!(all(bytes).unwrap(), [["a", "b"], ["1", "2"]]);
        }
    }

    #[test]
    fn lines_run_on_across_the_end_of_the_head() {
        let text = "123,456\n".repeat(200_000);
        assert!(text.len() as u64 > HEAD_BYTES);
        let records = all(&text).unwrap();
        assert_eq!(records.len(), 200_000);
        assert!(records.iter().all(|record| record == &["123", "456"]));
        // A first line that does not end within the head.
        let wide = vec!["7"; 1 << 20].join(";");
        assert_eq!(all(&wide).unwrap()[0].len(), 1 << 20);
    }

    #[test]
    fn damaged_gzip_streams() {
        // Text that hardly compresses, so that the damage lies behind the head.
        let mut state = 1_u32;
        let mut text = String::new();
        while text.len() < 1 << 21 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(&state.to_string());
            text.push('\n');
        }
        let whole = gzip(text.as_bytes());
        let small = gzip(b"a\n1\n");
        let mut wrong_sum = small.clone();
        let sum_at = small.len() - 8;
        wrong_sum[sum_at] ^= 1;
        let cases: [&[u8]; 6] = [
            &whole[..whole.len() / 10],
            &whole[..whole.len() * 9 / 10],
            &small[..small.len() - 3],
            &small[..5],
            &wrong_sum,
            &[small.clone(), b"trailing".to_vec()].concat(),
        ];
        for bytes in cases {
            let error = all(bytes).unwrap_err().to_string();
            assert!(
                error.starts_with("t.csv: the compressed data is cut off or damaged after line "),
                "{error}"
            );
        }
    }

    #[test]
    fn binary_files_are_refused() {
        let message = "t.csv does not look like a CSV file: it holds NUL bytes, as binary and \
                       UTF-16 files do";
        let cases: [&[u8]; 3] = [b"\x7fELF\x00\x00", b"a,b\n\xff\xfe\n\x00", &gzip(b"\x00")];
        for bytes in cases {
            assert_eq!(all(bytes).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn sources_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: PathBuf| match Input::open(&Source::Path(path)) {
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
