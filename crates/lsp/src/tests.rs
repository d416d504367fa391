//! The room from outside: texts in, answers out.

use super::*;
use gen_lsp_types::{Code, CompletionItemTextEdit, Contents, DiagnosticSeverity, Message, Range};

const FOLDER: &str = "\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: canaries, namespace: fleet}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: elsewhere, namespace: other}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: values, namespace: fleet}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: cluster1}
spec: {hubAcceptsClient: true}
";

const ADDON: &str = "\
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: hello
  annotations:
    tidegate.io/paused: \"\"   # \u{1f30a}
spec:
  supportedConfigs:
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfigs
    defaultConfig: {name: values, namespace: fleet}
  installStrategy:
    type: Placements
    placements:
    - name: canaries
      namespace: fleet
      rolloutStrategy:
        type: Progressive
        progressive: {note: \"\u{1f30a}\", minSuccessTime: banana}
";

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn workspace(text: &str) -> Workspace {
    let mut workspace = Workspace::new(Background::default());
    let folder = File {
        path: "folder.yaml".to_owned(),
        text: FOLDER.to_owned(),
    };
    workspace.read(vec![folder], Vec::new());
    workspace.hold("addon.yaml", 1, text.to_owned());
    workspace
}

/// The place of a mark `|` in a text, and the text without it.
fn marked(text: &str) -> (String, Position) {
    let (before, after) = text.split_once('|').expect("a mark");
    let line = before.rsplit('\n').next().unwrap_or_default();
    let lines = before.matches('\n').count();
    let count = |count: usize| u32::try_from(count).expect("small");
    let position = Position::new(count(lines), count(line.encode_utf16().count()));
    ([before, after].concat(), position)
}

/// What is underlined in a text.
fn underlined(text: &str, range: Range) -> String {
    assert_eq!(range.start.line, range.end.line);
    let line = text
        .split('\n')
        .nth(range.start.line as usize)
        .expect("the line is there");
    let units: Vec<u16> = line.encode_utf16().collect();
    String::from_utf16_lossy(&units[range.start.character as usize..range.end.character as usize])
}

fn offered(text: &str) -> Vec<String> {
    let (text, position) = marked(text);
    let found = workspace(&text).complete("addon.yaml", position);
    let written = found
        .iter()
        .map(|item| match item.text_edit.as_ref().expect("an edit") {
            CompletionItemTextEdit::TextEdit(edit) => edit.new_text.clone(),
            CompletionItemTextEdit::InsertReplaceEdit(edit) => edit.new_text.clone(),
        });
    written.collect()
}

fn said(text: &str) -> String {
    let (text, position) = marked(text);
    let mut workspace = workspace(&text);
    workspace.judge(now());
    let found = workspace.hover("addon.yaml", position);
    found.map_or_else(String::new, |hover| match hover.contents {
        Contents::MarkupContent(page) => page.value,
        Contents::MarkedString(_) | Contents::MarkedStringList(_) => "another form".to_owned(),
    })
}

#[test]
fn findings_stand_where_the_check_puts_them_counted_as_editors_count() {
    for text in [
        ADDON.to_owned(),
        ADDON.replace('\n', "\r\n"),
        format!("{ADDON}---\n{FOLDER}"),
    ] {
        let mut workspace = workspace(&text);
        let found = &workspace.judge(now())["addon.yaml"];
        let one = |rule: &str| {
            let is_it = |code: &Option<Code>| *code == Some(Code::String(rule.to_owned()));
            found
                .iter()
                .find(|one| is_it(&one.code))
                .unwrap_or_else(|| panic!("{rule}: {found:#?}"))
        };
        let time = one("rollout/min-success-time");
        assert_eq!(underlined(&text, time.range), "banana");
        assert_eq!(time.severity, Some(DiagnosticSeverity::Error));
        let Message::String(words) = &time.message else {
            panic!("plain words: {time:#?}");
        };
        assert!(
            words.starts_with("spec.installStrategy.placements[0]."),
            "{words}"
        );
        assert!(words.contains("\"5m\""), "{words}");
        assert_eq!(underlined(&text, one("schema/unknown-field").range), "note");
    }
}

#[test]
fn other_files_of_the_folder_and_what_is_not_saved_count() {
    let gone = ADDON
        .replace("name: canaries", "name: canary")
        .replace("banana", "5m");
    let mut workspace = workspace(&gone);
    let is_unknown = |workspace: &mut Workspace| {
        let found = &workspace.judge(now())["addon.yaml"];
        found
            .iter()
            .any(|one| one.code == Some(Code::String("install/unknown-placement".to_owned())))
    };
    assert!(is_unknown(&mut workspace));
    workspace.hold("folder.yaml", 1, FOLDER.replace("canaries", "canary"));
    assert!(!is_unknown(&mut workspace), "the editor holds it");
    workspace.release("folder.yaml");
    workspace.read(Vec::new(), Vec::new());
    assert!(is_unknown(&mut workspace), "let go of, and not in the folder");
}

#[test]
fn what_is_mended_or_no_yaml_or_too_large_is_told() {
    let mut workspace = workspace("a: [");
    assert_eq!(workspace.judge(now())["addon.yaml"].len(), 1);
    workspace.hold("addon.yaml", 2, String::new());
    assert!(workspace.judge(now())["addon.yaml"].is_empty());
    workspace.hold("addon.yaml", 3, "x".repeat(LARGEST + 1));
    let found = workspace.judge(now())["addon.yaml"].clone();
    assert!(format!("{found:?}").contains("16 MiB"), "{found:?}");
    assert_eq!(workspace.hover("addon.yaml", Position::new(9, 9)), None);
    assert!(workspace.complete("nothing.yaml", Position::new(0, 0)).is_empty());
}

#[test]
fn a_field_a_rule_and_an_annotation_say_what_they_mean() {
    let at = |word: &str| {
        let (first, rest) = word.split_at(1);
        said(&ADDON.replacen(word, &format!("{first}|{rest}"), 1))
    };
    let text = at("rolloutStrategy");
    assert!(
        text.starts_with("**spec.installStrategy.placements[].rolloutStrategy**"),
        "{text}"
    );
    let text = at("banana");
    assert!(text.starts_with("**rollout/min-success-time**"), "{text}");
    assert!(
        text.contains("**spec.installStrategy.placements[].rolloutStrategy.progressive.minSuccessTime**"),
        "{text}"
    );
    let text = at("tidegate.io/paused");
    assert!(text.contains("pauses rollouts"), "{text}");
    assert_eq!(said("|"), "");
    assert_eq!(said("# a |comment"), "");
    assert_eq!(said("a: [|"), "");
}

#[test]
fn names_of_the_folder_are_offered_where_something_refers_to_them() {
    let addon = |old: &str, new: &str| ADDON.replace("banana", "5m").replacen(old, new, 1);
    assert_eq!(
        offered(&addon("name: canaries", "name: |")),
        ["canaries"],
        "of that namespace"
    );
    assert_eq!(offered(&addon("name: canaries", "name: can|")), ["canaries"]);
    assert_eq!(offered(&addon("name: canaries", "name: \"can|\"")), ["canaries"]);
    assert_eq!(
        offered(&addon("namespace: fleet\n", "namespace: |\n")),
        ["fleet", "other"]
    );
    assert_eq!(offered(&addon("{name: values,", "{name: v|,")), ["values"]);
    assert_eq!(
        offered(&addon("type: Progressive", "type: Pro|")),
        ["All", "Progressive", "ProgressivePerGroup"]
    );
    let configs = offered(&addon("resource: addondeploymentconfigs", "resource: a|"));
    assert_eq!(
        configs,
        ["addondeploymentconfigs", "addonhubconfigs", "addontemplates"]
    );
    let instance =
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata:\n";
    assert_eq!(
        offered(&format!("{instance}  name: x\n  namespace: |")),
        ["cluster1"]
    );
    assert!(offered("apiVersion: a|").contains(&"addon.open-cluster-management.io/v1beta1".to_owned()));
    assert!(offered("apiVersion: tidegate.io/v1alpha1\nkind: |").contains(&"AddOnPolicy".to_owned()));
}

#[test]
fn fields_are_offered_that_are_not_there_yet() {
    let new = offered(&ADDON.replacen("      rolloutStrategy:\n", "      rol|\n      x:\n", 1));
    assert!(
        new.contains(&"rolloutStrategy:".to_owned()) && new.contains(&"configs:".to_owned()),
        "{new:?}"
    );
    assert!(
        !new.iter().any(|word| word.starts_with("name")),
        "they are there: {new:?}"
    );
    let top = offered("kind: ClusterManagementAddOn\n|\nmetadata:\n  name: x\n");
    assert_eq!(top, ["apiVersion: ", "spec:"]);
    let item = offered(&ADDON.replacen("    - name: canaries\n", "    - |\n    - name: canaries\n", 1));
    assert!(item.contains(&"name: ".to_owned()), "{item:?}");
    let has_colon = offered(&ADDON.replacen("supportedConfigs:", "sup|:", 1));
    assert!(
        has_colon.contains(&"supportedConfigs".to_owned()),
        "{has_colon:?}"
    );
    // What is below the place is not right yet.
    let broken = offered(
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nspec:\n  ins|\n a: [\n",
    );
    assert!(broken.contains(&"installStrategy:".to_owned()), "{broken:?}");
    let annotations = offered("kind: ClusterManagementAddOn\nmetadata:\n  annotations:\n    tide|\n");
    assert!(
        annotations.contains(&"tidegate.io/paused: ".to_owned()),
        "{annotations:?}"
    );
    for nothing in [
        "# |",
        "a: b # |",
        "|: [",
        "'|",
        "- |",
        "a: >\n  b|",
        "{|",
        "[[[|",
        "\u{1f30a}: |",
    ] {
        let _nobody_panics = offered(nothing);
    }
}

#[test]
fn nothing_is_asked_in_vain_wherever_it_is_asked() {
    let odd = [
        "\u{feff}\u{1f30a}: \u{1f30a}\r- \r\r\n\t: [",
        "--- |\n--- \n---\n",
        "\u{0}",
        "? - :\n: -\n- ? {",
        "&a [*a, *b]",
    ];
    for text in odd.into_iter().chain([ADDON]) {
        let mut workspace = workspace(text);
        workspace.judge(now());
        for line in 0..30 {
            for character in (0..90).step_by(3).chain([u32::MAX]) {
                let position = Position::new(line, character);
                workspace.hover("addon.yaml", position);
                workspace.complete("addon.yaml", position);
            }
        }
    }
}
