//! Speech on disk, within a bound: one file a speech, with a checksum, written by one thread and put in place in one
//! step. What cannot be written is not kept; what was damaged is thrown away.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::SystemTime,
};

use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use sha2::{Digest, Sha256};

use super::{Key, Speech, locked};

/// Speeches that may wait to be written.
const MOST_WAITING: usize = 64;

const MAGIC: &[u8; 8] = b"RBSPEAK1";
const CHECKSUM_BYTES: usize = 32;
const EXTENSION: &str = "fixed";

/// Files of an older service, which kept every text: people's data may be in them.
const FORMER_EXTENSION: &str = "speech";

/// A file is not read beyond this.
const MOST_FILE_BYTES: u64 = 32 * 1024 * 1024;

#[derive(Clone)]
pub(super) struct Disk {
    folder: Arc<PathBuf>,
    index: Arc<Mutex<Index>>,
    writer: mpsc::SyncSender<(Key, Speech)>,
}

/// What is there, by when it was used last.
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
    /// What a folder keeps. Reads the folder; the thread that writes ends with the last clone.
    pub(super) fn open(folder: &Path, most_bytes: u64) -> io::Result<Self> {
        private::folder(folder)?;
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default();
            // The former are of a process that ended in between.
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
                    Err(error) => tracing::warn!(%error, "a speech was not kept on disk"),
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

    /// Has a speech written when there is time; not at all when too many wait.
    pub(super) fn keep(&self, key: Key, speech: Speech) {
        if self.writer.try_send((key, speech)).is_err() {
            tracing::debug!("too many speeches wait for the disk: one is not kept");
        }
    }

    /// Reads a speech. Blocks.
    pub(super) fn read(&self, key: Key) -> Option<Speech> {
        let path = path_of(&self.folder, key);
        let read = fs::symlink_metadata(&path).and_then(|meta| match !meta.is_file() || meta.len() > MOST_FILE_BYTES {
            true => Err(io::Error::other("no file, or too large")),
            false => fs::read(&path),
        });
        let speech = read.as_deref().ok().and_then(decode);
        match (&speech, read) {
            (Some(_), Ok(file)) => {
                locked(&self.index).use_of(key, file.len() as u64);
                // The order of use outlives the process; where it cannot be noted, the time of writing serves.
                let touched = fs::File::options().append(true).open(&path);
                drop(touched.and_then(|file| file.set_modified(SystemTime::now())));
            }
            _ => {
                tracing::warn!(file = %path.display(), "a kept speech is damaged and is dropped");
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
        // Half a file is of no use, and counts in no bound.
        let _ = fs::remove_file(&part);
    }
    kept.map(|()| file.len() as u64)
}

/// Folders and files that nobody else on the machine can read, where the system knows of owners.
mod private {
    use std::{fs, io, io::Write, path::Path};

    /// Makes a folder, or makes one private that is there.
    pub(super) fn folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Not every file system can; its files are private all the same.
            if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(0o700)) {
                tracing::warn!(%error, folder = %path.display(), "the speech cache's folder is not private");
            }
        }
        Ok(())
    }

    /// Writes a new file.
    pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        // One that is left over would keep its owner's rights.
        let _ = fs::remove_file(path);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)?.write_all(bytes)
    }
}

/// Deletes what has not been used for longest, until the rest is within the bound.
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
        // It may be gone already.
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
