//! A test for each file of a folder.

/// Makes a test of each name, which calls the check with the name of its file (`some_name` is `some-name`), and one test that fails
/// where a file of the folder is not in the list.
macro_rules! test_each {
    ($check:path, $folder:literal, $extension:literal: $($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                $check(&stringify!($name).replace('_', "-"));
            }
        )+

        #[test]
        fn every_file_has_its_test() {
            each::check_list($folder, $extension, &[$(stringify!($name)),+]);
        }
    };
}
pub(crate) use test_each;

/// Fails where a file of the folder has no test, and says which line to add.
pub(crate) fn check_list(folder: &str, extension: &str, listed: &[&str]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<String> = std::fs::read_dir(&path)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().replace('-', "_")))
        .collect();
    files.sort();
    let missing: Vec<&String> = files
        .iter()
        .filter(|file| !listed.contains(&file.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "files of {folder} without a test; add to the list of `test_each!`: {missing:?}"
    );
    let sorted = listed.is_sorted();
    assert!(
        sorted,
        "the list of `test_each!` for {folder} is not in alphabetical order"
    );
}
