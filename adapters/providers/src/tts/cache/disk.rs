//! Bounded speech cache on disk. Each speech is a file with a checksum, written by one thread and renamed
//! into place. Speech that cannot be written is not kept, and damaged files are deleted.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::SystemTime,
};

use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use sha2::{Digest, Sha256};

use super::speech::{Key, Speech, locked};

/// Maximum number of speeches that wait to be written.
const MOST_WAITING: usize = 64;

const MAGIC: &[u8; 8] = b"RBSPEAK1";
const CHECKSUM_BYTES: usize = 32;
const EXTENSION: &str = "fixed";

/// Extension of files from an older version, which kept every text and so may contain personal data.
const FORMER_EXTENSION: &str = "speech";

/// Maximum size of a file that is read, in bytes.
const MOST_FILE_BYTES: u64 = 32 * 1024 * 1024;

#[derive(Clone)]
pub(super) struct Disk {
    folder: Arc<PathBuf>,
    index: Arc<Mutex<Index>>,
    writer: mpsc::SyncSender<(Key, Speech)>,
}

/// Files on disk, ordered by last use.
#[derive(Debug, Default)]
struct Index {
    files: HashMap<Key, (u64, u64)>,
    order: BTreeMap<u64, Key>,
    bytes: u64,
    uses: u64,
}

impl Index {
    fn use_of(&mut self, key: Key, bytes: u64) {
        self.forget(key);
        self.uses += 1;
        self.files.insert(key, (self.uses, bytes));
        self.order.insert(self.uses, key);
        self.bytes += bytes;
    }

    fn forget(&mut self, key: Key) {
        if let Some((used, bytes)) = self.files.remove(&key) {
            self.order.remove(&used);
            self.bytes -= bytes;
        }
    }
}

impl Disk {
    /// Opens a folder and reads its index. The writing thread ends with the last clone.
    pub(super) fn open(folder: &Path, most_bytes: u64) -> io::Result<Self> {
        private::folder(folder)?;
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default();
            // `part` files are left over from a process that ended while writing.
            if extension == "part" || extension == FORMER_EXTENSION {
                let _ = fs::remove_file(&path);
            }
            if let Some((key, meta)) = key_of(&path).zip(fs::metadata(&path).ok()) {
                found.push((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), key, meta.len()));
            }
        }
        found.sort_unstable();
        let mut index = Index::default();
        for (_, key, bytes) in found {
            index.use_of(key, bytes);
        }
        let (writer, wanted) = mpsc::sync_channel::<(Key, Speech)>(MOST_WAITING);
        let disk = Self {
            folder: Arc::new(folder.to_owned()),
            index: Arc::new(Mutex::new(index)),
            writer,
        };
        let (folder, index) = (disk.folder.clone(), disk.index.clone());
        let writing = move || {
            trim(&folder, &index, most_bytes);
            for (key, speech) in wanted {
                match write(&folder, key, &speech) {
                    Ok(bytes) => locked(&index).use_of(key, bytes),
                    Err(error) => tracing::warn!(%error, "writing speech to the cache failed"),
                }
                trim(&folder, &index, most_bytes);
            }
        };
        std::thread::Builder::new().name("speech-cache".into()).spawn(writing)?;
        Ok(disk)
    }

    pub(super) fn has(&self, key: Key) -> bool {
        locked(&self.index).files.contains_key(&key)
    }

    /// Queues a speech for writing. It is dropped if too many wait.
    pub(super) fn keep(&self, key: Key, speech: Speech) {
        if self.writer.try_send((key, speech)).is_err() {
            tracing::debug!("speech cache's write queue full, speech not kept");
        }
    }

    /// Reads a speech. Blocks.
    pub(super) fn read(&self, key: Key) -> Option<Speech> {
        let path = path_of(&self.folder, key);
        let read = fs::symlink_metadata(&path).and_then(|meta| match !meta.is_file() || meta.len() > MOST_FILE_BYTES {
            true => Err(io::Error::other("not a file, or too large")),
            false => fs::read(&path),
        });
        let speech = read.as_deref().ok().and_then(decode);
        match (&speech, read) {
            (Some(_), Ok(file)) => {
                locked(&self.index).use_of(key, file.len() as u64);
                // Keeps the order of use across restarts. If the time cannot be set, the time of writing serves.
                let touched = fs::File::options().append(true).open(&path);
                drop(touched.and_then(|file| file.set_modified(SystemTime::now())));
            }
            _ => {
                tracing::warn!(file = %path.display(), "cached speech damaged, deleting it");
                locked(&self.index).forget(key);
                let _ = fs::remove_file(&path);
            }
        }
        speech
    }
}

fn path_of(folder: &Path, key: Key) -> PathBuf {
    folder.join(key.name()).with_extension(EXTENSION)
}

fn key_of(path: &Path) -> Option<Key> {
    let own = path.extension()? == EXTENSION;
    Key::of_name(path.file_stem()?.to_str()?).filter(|_| own)
}

fn write(folder: &Path, key: Key, speech: &Speech) -> io::Result<u64> {
    let file = encode(speech);
    let path = path_of(folder, key);
    let part = path.with_extension("part");
    let kept = private::write(&part, &file).and_then(|()| fs::rename(&part, &path));
    if kept.is_err() {
        // An incomplete file is useless and is not counted in the limit.
        let _ = fs::remove_file(&part);
    }
    kept.map(|()| file.len() as u64)
}

/// Folders and files that other users of the machine cannot read, on systems with file permissions.
mod private {
    use std::{fs, io, io::Write, path::Path};

    /// Creates a private folder, or makes an existing one private.
    pub(super) fn folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Not every file system supports this. The files are private in any case.
            if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(0o700)) {
                tracing::warn!(%error, folder = %path.display(), "speech cache folder is not private");
            }
        }
        Ok(())
    }

    /// Writes a new file.
    pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        // A leftover file would keep its permissions.
        let _ = fs::remove_file(path);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)?.write_all(bytes)
    }
}

/// Deletes the least recently used files until the rest fits the limit.
fn trim(folder: &Path, index: &Mutex<Index>, most_bytes: u64) {
    loop {
        let oldest = {
            let mut index = locked(index);
            let over = index.bytes > most_bytes;
            let oldest = index.order.first_key_value().map(|(_, key)| *key).filter(|_| over);
            if let Some(key) = oldest {
                index.forget(key);
            }
            oldest
        };
        let Some(key) = oldest else { return };
        // The file may already be gone.
        let _ = fs::remove_file(path_of(folder, key));
    }
}

fn encode(speech: &Speech) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    for piece in speech.0.iter() {
        file.extend((piece.samples.len() as u32).to_le_bytes());
        file.extend((piece.words.len() as u32).to_le_bytes());
        for word in &piece.words {
            file.extend((word.text_end as u64).to_le_bytes());
            file.extend(word.sample_end.to_le_bytes());
        }
        file.extend(piece.samples.iter().flat_map(|sample| sample.to_le_bytes()));
    }
    let checksum = Sha256::digest(&file);
    file.extend(checksum);
    file
}

fn decode(file: &[u8]) -> Option<Speech> {
    let (body, checksum) = file.split_at_checked(file.len().checked_sub(CHECKSUM_BYTES)?)?;
    let sound = Sha256::digest(body).as_slice() == checksum;
    let mut rest = body.strip_prefix(MAGIC).filter(|_| sound)?;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let samples = u32::from_le_bytes(take(&mut rest)?) as usize;
        let words = u32::from_le_bytes(take(&mut rest)?) as usize;
        let words = (0..words).map(|_| {
            Some(WordEnd {
                text_end: usize::try_from(u64::from_le_bytes(take(&mut rest)?)).ok()?,
                sample_end: u64::from_le_bytes(take(&mut rest)?),
            })
        });
        let words = words.collect::<Option<Vec<_>>>()?;
        let (audio, behind) = rest.split_at_checked(samples.checked_mul(2)?)?;
        rest = behind;
        let samples = audio.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
        pieces.push(SpeechPiece {
            samples: samples.collect(),
            words,
        });
    }
    (!pieces.is_empty()).then(|| Speech(pieces.into()))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*head)
}
