//! The log as a file.
//!
//! Decides when bytes are written, made safe against loss of power, and rewritten. A record is written before its write is
//! answered, so the end of the process loses nothing; `sync` is called once a second and at the end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::frame::Entry;
use super::replay::{Damage, HEADER, Replay};

const LOG: &str = "objects.log";
const DRAFT: &str = "objects.log.new";
const LOCK: &str = "lock";
/// How many bytes of history a log may hold besides twice its state before it is rewritten.
const SPARE: u64 = 4 * 1024 * 1024;

/// The data of a hub cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused.
    #[error("cannot use \"{}\"", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another hub uses the folder.
    #[error("another hub uses the data in \"{}\"", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The log cannot be believed.
    #[error("cannot read \"{}\": {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
}

/// The log of a running hub.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    /// Locked as long as the hub runs.
    lock: File,
    state: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Bytes of the file.
    length: u64,
    /// Bytes of the state that it begins with.
    base: u64,
    /// Whether something was written since the last sync.
    dirty: bool,
    /// Why nothing can be written any more.
    broken: Option<String>,
}

impl Journal {
    /// Opens the log in a folder; makes both where they are absent.
    pub(crate) fn at(dir: &Path, first_version: u64) -> Result<(Self, Replay), JournalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::System { path, source }
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(failed(dir))?;
        let lock = private(&dir.join(LOCK)).map_err(failed(&dir.join(LOCK)))?;
        if lock.try_lock().is_err() {
            return Err(JournalError::Busy { dir: dir.to_owned() });
        }
        let path = dir.join(LOG);
        if !path.exists() {
            rewrite(dir, first_version, &[]).map_err(failed(&path))?;
        }
        let bytes = fs::read(&path).map_err(failed(&path))?;
        let replay = Replay::read(&bytes).map_err(|damage| JournalError::Damaged {
            path: path.clone(),
            damage,
        })?;
        let torn = bytes.len() - replay.good;
        if torn > 0 {
            tracing::warn!(
                bytes = torn,
                "the last write before the end was never finished; it is cut off"
            );
        }
        let length = u64::try_from(replay.good).unwrap_or(u64::MAX);
        let mut file = OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(failed(&path))?;
        file.set_len(length)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(failed(&path))?;
        let open = Open {
            file,
            length,
            base: u64::try_from(replay.base).unwrap_or(u64::MAX),
            dirty: torn > 0,
            broken: None,
        };
        let journal = Self {
            dir: dir.to_owned(),
            lock,
            state: Mutex::new(open),
        };
        Ok((journal, replay))
    }

    /// Writes a record. When this returns, the end of the process does not lose it.
    pub(crate) fn append(&self, entry: &Entry) -> Result<(), String> {
        let mut open = self.open();
        if let Some(broken) = &open.broken {
            return Err(broken.clone());
        }
        if entry.is_too_long() {
            return Err("the object is too large".to_owned());
        }
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        if let Err(error) = open.file.write_all(&bytes) {
            open.take_back(&error);
            return Err(error.to_string());
        }
        open.length += u64::try_from(bytes.len()).unwrap_or_default();
        open.dirty = true;
        Ok(())
    }

    /// Makes what was written safe against loss of power.
    pub(crate) fn sync(&self) {
        let mut open = self.open();
        if !open.dirty {
            return;
        }
        match open.file.sync_data() {
            Ok(()) => open.dirty = false,
            Err(error) => tracing::error!(%error, "the log of the hub cannot be made safe"),
        }
    }

    /// Ends writing, and lets another hub have the folder. Clients of this process may outlive their hub.
    pub(crate) fn close(&self) {
        self.sync();
        self.open().broken = Some("the hub has ended".to_owned());
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the folder of the hub stays locked until the process ends");
        }
    }

    /// Tells whether the log holds more history than state.
    pub(crate) fn is_wordy(&self) -> bool {
        let open = self.open();
        open.broken.is_none() && open.length > open.base.saturating_mul(2).saturating_add(SPARE)
    }

    /// Replaces the log by one that begins with this state. No table may be written meanwhile.
    pub(crate) fn compact(&self, version: u64, state: &[Entry]) -> io::Result<()> {
        let mut open = self.open();
        let (mut file, length) = rewrite(&self.dir, version, state)?;
        file.seek(SeekFrom::End(0))?;
        *open = Open {
            file,
            length,
            base: length,
            dirty: false,
            broken: None,
        };
        Ok(())
    }

    /// Returns the folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Removes half a record, so that the next one does not stand behind it.
    fn take_back(&mut self, cause: &io::Error) {
        let undone = self
            .file
            .set_len(self.length)
            .and_then(|()| self.file.seek(SeekFrom::End(0)));
        if let Err(error) = undone {
            self.broken = Some(format!(
                "the log of the hub cannot be written any more: {cause}, then {error}"
            ));
        }
    }
}

/// Writes a new log beside the old one and puts it in its place.
fn rewrite(dir: &Path, version: u64, state: &[Entry]) -> io::Result<(File, u64)> {
    let draft = dir.join(DRAFT);
    let file = private(&draft)?;
    file.set_len(0)?;
    let mut out = io::BufWriter::new(file);
    let mut length = HEADER.len();
    out.write_all(HEADER)?;
    let end = Entry::mark(version, u64::try_from(state.len()).unwrap_or(u64::MAX));
    let mut bytes = Vec::new();
    for entry in state.iter().chain([&end]) {
        bytes.clear();
        entry.write(&mut bytes);
        out.write_all(&bytes)?;
        length += bytes.len();
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&draft, dir.join(LOG))?;
    // The new name is as safe as the new bytes only when the folder is.
    File::open(dir)?.sync_all()?;
    Ok((file, u64::try_from(length).unwrap_or(u64::MAX)))
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}
