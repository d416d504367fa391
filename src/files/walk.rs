//! Everything below a folder.
//!
//! Decides which files belong to it. A link is followed as far as it stays inside: in the folder that was named, or in the
//! repository of git around it. A link to elsewhere would bring whatever its author likes into a report.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::read::regular;

/// Which files are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// How their names end.
    pub endings: &'static [&'static str],
    /// The most folders inside each other.
    pub deepest: usize,
    /// The most files.
    pub most: usize,
    /// Whether links to folders are followed; each folder is read once, whatever leads there.
    pub linked_folders: bool,
}

/// What a walk has found, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files to read.
    pub files: Vec<PathBuf>,
    /// What looks like one of them and cannot be read.
    pub refused: Vec<Refused>,
}

/// A file that is not read, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// Where it lies.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

struct Step<'a> {
    walk: &'a Walk,
    root: PathBuf,
    seen: BTreeSet<PathBuf>,
    found: Found,
}

impl Walk {
    /// Returns the files below a folder. A folder that cannot be read ends it.
    pub fn below(&self, folder: &Path) -> io::Result<Found> {
        let real = fs::canonicalize(folder)?;
        let repository = real.ancestors().find(|above| above.join(".git").exists());
        let mut step = Step {
            walk: self,
            root: repository.unwrap_or(&real).to_owned(),
            seen: BTreeSet::from([real.clone()]),
            found: Found::default(),
        };
        step.folder(folder, 0)?;
        step.found.files.sort();
        step.found.refused.sort();
        Ok(step.found)
    }

    /// Returns whether a file of this name is looked for.
    pub fn includes(&self, path: &Path) -> bool {
        let ending = path.extension().and_then(OsStr::to_str);
        ending.is_some_and(|ending| self.endings.contains(&ending))
    }
}

impl Step<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A mounted folder keeps its real files in a hidden one, and links to them.
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if let Err(error) = self.entry(&path, entry.file_type()?, depth) {
                let why = error.to_string();
                self.found.refused.push(Refused { path, why });
            }
            if self.found.files.len() + self.found.refused.len() > self.walk.most {
                let why = format!("it contains more than {} files", self.walk.most);
                return Err(io::Error::other(why));
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, kind: fs::FileType, depth: usize) -> io::Result<()> {
        let wanted = self.walk.includes(path);
        if kind.is_dir() {
            return self.inner(path, depth);
        }
        if !kind.is_symlink() {
            if wanted {
                regular(kind)?;
                self.found.files.push(path.to_owned());
            }
            return Ok(());
        }
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(_) if !wanted => return Ok(()),
            Err(error) => return Err(error),
        };
        let about = fs::metadata(&target)?;
        let is_followed = about.is_dir() && self.walk.linked_folders;
        if !wanted && !is_followed {
            return Ok(());
        }
        if !target.starts_with(&self.root) {
            let why = "it is a link to a target outside the folder: use the target instead";
            return Err(io::Error::other(why));
        }
        if about.is_dir() {
            return if self.walk.linked_folders {
                self.inner(path, depth)
            } else {
                Ok(())
            };
        }
        regular(about.file_type())?;
        self.found.files.push(path.to_owned());
        Ok(())
    }

    fn inner(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        if depth >= self.walk.deepest {
            let why = format!("folders are nested more than {} levels deep", self.walk.deepest);
            return Err(io::Error::other(why));
        }
        // Links back and forth make a small tree endless.
        if !self.walk.linked_folders || self.seen.insert(fs::canonicalize(path)?) {
            self.folder(path, depth + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const WALK: Walk = Walk {
        endings: &["yaml"],
        deepest: 8,
        most: 20,
        linked_folders: true,
    };

    fn names(folder: &Path, found: &Found) -> Vec<String> {
        let name = |path: &Path| {
            path.strip_prefix(folder)
                .expect("below")
                .to_string_lossy()
                .into_owned()
        };
        let refused = found
            .refused
            .iter()
            .map(|one| format!("{}: {}", name(&one.path), one.why));
        found.files.iter().map(|path| name(path)).chain(refused).collect()
    }

    #[test]
    fn a_mounted_folder_is_read_through_its_links() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("..2026/sub")).expect("writable");
        for file in ["..2026/a.yaml", "..2026/sub/b.yaml", "..2026/c.txt"] {
            fs::write(at(file), "").expect("writable");
        }
        symlink("..2026", at("..data")).expect("a link");
        for (link, target) in [
            ("a.yaml", "..data/a.yaml"),
            ("sub", "..data/sub"),
            ("c.txt", "..data/c.txt"),
        ] {
            symlink(target, at(link)).expect("a link");
        }
        let found = WALK.below(folder.path()).expect("readable");
        assert_eq!(names(folder.path(), &found), ["a.yaml", "sub/b.yaml"]);
    }

    #[test]
    fn what_leads_out_or_is_no_file_is_reported_and_not_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.yaml"), "").expect("writable");
        for (link, target) in [
            ("environ.yaml", "/proc/self/environ"),
            ("loop.yaml", "loop.yaml"),
            ("nowhere.yaml", "nothing"),
            ("other", "nothing"),
            ("out", "/etc"),
            ("zero.yaml", "/dev/zero"),
        ] {
            symlink(target, at(link)).expect("a link");
        }
        let made = std::process::Command::new("mkfifo").arg(at("fifo.yaml")).status();
        assert!(made.expect("mkfifo is there").success());
        let found = WALK.below(folder.path()).expect("readable");
        assert_eq!(found.files, [at("a.yaml")]);
        let told = names(folder.path(), &found).join("\n");
        for said in [
            "environ.yaml: it is a link to a target",
            "fifo.yaml: it is a FIFO",
            "loop.yaml: ",
            "nowhere.yaml: No such file",
            "out: it is a link to a target",
            "zero.yaml: it is a link to a target",
        ] {
            assert!(told.contains(said), "{said}: {told}");
        }
        assert_eq!(found.refused.len(), 6);
    }

    #[test]
    fn links_back_and_forth_have_an_end_and_so_have_folders() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.yaml"), "").expect("writable");
        for link in ["l1", "l2", "l3", "l4"] {
            symlink(".", at(link)).expect("a link");
        }
        let found = WALK.below(folder.path()).expect("readable");
        assert_eq!(names(folder.path(), &found), ["a.yaml"]);
        fs::create_dir_all(at("1/2/3/4/5/6/7/8/9/10")).expect("writable");
        let found = WALK.below(folder.path()).expect("readable");
        assert_eq!(found.refused.len(), 1, "{found:?}");
        for number in 0..30 {
            fs::write(at(&format!("{number}.yaml")), "").expect("writable");
        }
        let error = WALK.below(folder.path()).expect_err("too many").to_string();
        assert!(error.contains("more than 20 files"), "{error}");
    }

    #[test]
    fn a_link_may_lead_to_another_folder_of_the_repository() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at(".git")).expect("writable");
        fs::create_dir_all(at("base")).expect("writable");
        fs::create_dir_all(at("prod")).expect("writable");
        fs::write(at("base/a.yaml"), "").expect("writable");
        symlink("../base/a.yaml", at("prod/a.yaml")).expect("a link");
        let found = WALK.below(&at("prod")).expect("readable");
        assert_eq!(found.files, [at("prod/a.yaml")]);
    }
}
