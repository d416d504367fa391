//! How the page looks.
//!
//! Decides layout and colours. Draws only what is in sight, so that ten thousand clusters cost no more than ten.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Row, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use kubernetes::field::{counted, folded};

use insight::cockpit::{
    ClusterState, ClusterView, Line, Page, Picture, Question, Tone, View, compact_list, rows, status,
};

/// The largest part of the page that the waves may have, in lines.
const MOST_WAVES: usize = 14;
const KEYS: [(&str, &str); 19] = [
    ("up, down, j, k", "select"),
    ("PgUp, PgDn, g, G", "page up, page down, first, last"),
    ("Enter, right, l", "open"),
    ("Esc, left, h", "back, or drop the filter"),
    ("/", "filter: names and states; Enter keeps it, Esc drops it"),
    ("s", "sort: by attention, by name, by clusters that remain"),
    ("c", "everything that the chosen cluster has"),
    ("y", "history: revisions and events"),
    ("o", "freezes, approvals, checks and profiles"),
    ("v", "scroll the waves instead of the clusters, and back"),
    ("w", "why the cluster is not ready"),
    ("p", "pause: no further cluster starts"),
    ("r", "resume"),
    ("m", "promote: soaking clusters count as completed"),
    ("a", "approve: waiting decision groups may start"),
    ("u", "undo: roll back to the last known good configuration"),
    (
        "t",
        "retry: failed clusters of an upgrade, or a rolled-back change",
    ),
    ("?", "show or hide the keys"),
    ("q", "quit"),
];

/// Where the page is from, and whether the hub answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// The address of the hub.
    pub(super) hub: String,
    /// The user of the requests.
    pub(super) user: String,
    /// That the hub does not answer.
    pub(super) lost: Option<String>,
}

/// Draws the page; notes how many lines of a list fit.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut Page, header: &Header, coloured: bool, now: Timestamp) {
    let width = usize::from(frame.area().width);
    let feet = in_page(&footer(app, header, width), width);
    let feet_height = u16::try_from(feet.len()).unwrap_or(u16::MAX);
    let parts = [
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(feet_height),
    ];
    let [head, body, foot] = Layout::vertical(parts).areas(frame.area());
    put(frame, head, &[title(app, header, width)], coloured, None);
    match app.place.clone() {
        View::Rollouts => rollouts(frame, body, app, coloured, now),
        View::Rollout(_) => rollout(frame, body, app, coloured, now),
        View::Cluster(_, name) => cluster(frame, body, app, &name, coloured, now),
        View::Fleet(name) => fleet(frame, body, app, &name, coloured, now),
        View::History(_) | View::Objects => text(frame, body, app, coloured),
    }
    put(frame, foot, &feet, coloured, None);
    if app.shows_keys {
        let lines: Vec<Line> = KEYS
            .iter()
            .map(|(key, what)| Line::of(Tone::Strong, format!("{key:18}")).and(Tone::Plain, *what))
            .collect();
        popup(frame, "keys", &lines, coloured);
    }
    if let Some(question) = &app.question {
        popup(frame, question.request.verb.word(), &asked(question), coloured);
    }
}

fn asked(question: &Question) -> Vec<Line> {
    if question.is_typing {
        let reason = Line::of(Tone::Strong, "reason (optional): ");
        return vec![
            reason.and(Tone::Plain, format!("{}_", question.request.reason)),
            Line::default(),
            Line::of(Tone::Strong, "Enter").and(Tone::Plain, " shows what will be written, Esc cancels"),
        ];
    }
    let Some(lines) = &question.lines else {
        return vec![Line::of(
            Tone::Faint,
            "reading from the hub what would be written …",
        )];
    };
    let mut all = lines.clone();
    all.push(Line::default());
    all.push(Line::of(Tone::Strong, "y").and(Tone::Plain, " confirms, any other key cancels"));
    all
}

/// Where one is, on the left; which hub that is, on the right, as far as it fits.
fn title(app: &Page, header: &Header, width: usize) -> Line {
    let mut line = Line::of(Tone::Strong, "tidegate");
    let places: Vec<String> = match &app.place {
        View::Rollouts => Vec::new(),
        View::Rollout(target) => vec![target.told()],
        View::Cluster(target, name) => vec![target.told(), name.clone()],
        View::History(target) => vec![target.told(), "history".to_owned()],
        View::Fleet(name) => vec![format!("cluster {name}")],
        View::Objects => vec!["freezes, approvals, checks, profiles".to_owned()],
    };
    for place in places {
        line = line.and(Tone::Faint, " > ").and(Tone::Plain, place);
    }
    if app.place == View::Rollouts {
        let all = counted(app.pictures.len(), "rollout");
        line = line.and(Tone::Plain, format!("  {all}, by {}", app.order.word()));
    }
    if app.is_typing || !app.filter.is_empty() {
        let cursor = if app.is_typing { "_" } else { "" };
        line = line.and(Tone::Soaking, format!("  /{}{cursor}", app.filter));
    }
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let forms = [
        format!("{}  {}  {version}", header.hub, header.user),
        format!("{}  {}", header.hub, header.user),
        header.hub.clone(),
    ];
    let free = width.saturating_sub(line.width());
    let fitting = forms
        .into_iter()
        .find(|form| form.chars().count().saturating_add(2) <= free);
    match fitting {
        Some(form) => {
            let space = free.saturating_sub(form.chars().count());
            line.and(Tone::Plain, " ".repeat(space)).and(Tone::Faint, form)
        }
        None => line,
    }
}

/// The keys that fit; whole ones only.
fn footer(app: &Page, header: &Header, width: usize) -> Line {
    if let Some(lost) = &header.lost {
        return Line::of(Tone::Bad, lost.as_str());
    }
    if let Some(said) = &app.said {
        return said.clone();
    }
    if app.is_typing {
        return Line::of(Tone::Faint, "type a name or a state   Enter keep   Esc drop");
    }
    // In the order in which they are given up.
    let keys: &[&str] = match &app.place {
        View::Rollouts => &[
            "? keys",
            "q quit",
            "Enter open",
            "/ filter",
            "s sort",
            "p pause",
            "r resume",
            "a approve",
            "u undo",
            "o freezes, approvals",
            "y history",
            "m promote",
            "t retry",
        ],
        View::Rollout(_) => &[
            "? keys",
            "Esc back",
            "Enter why",
            "/ filter",
            "v waves",
            "c cluster",
            "y history",
            "p pause",
            "r resume",
            "a approve",
            "u undo",
            "m promote",
            "t retry",
        ],
        View::Cluster(..) => &[
            "? keys",
            "Esc back",
            "w refresh",
            "c cluster",
            "up, down scroll",
            "q quit",
        ],
        View::Fleet(_) => &["? keys", "Esc back", "Enter why", "q quit"],
        View::History(_) | View::Objects => &["? keys", "Esc back", "w refresh", "up, down scroll", "q quit"],
    };
    let mut text = String::new();
    for key in keys {
        let separator = if text.is_empty() { "" } else { "   " };
        let length = text.chars().count() + separator.len() + key.chars().count();
        if length <= width {
            text.push_str(separator);
            text.push_str(key);
        }
    }
    Line::of(Tone::Faint, text)
}

/// Draws lines, one of them marked as chosen.
fn put(frame: &mut Frame<'_>, area: Rect, lines: &[Line], coloured: bool, chosen: Option<usize>) {
    let width = usize::from(area.width);
    let rows = lines.iter().enumerate().map(|(at, line)| {
        let line = line.clone().cut(width);
        if chosen == Some(at) {
            // One style over the whole line: colours of its parts would be colours of the background.
            let rest = width.saturating_sub(line.width());
            let text = format!("{}{}", line.text(), " ".repeat(rest));
            return Row::from(Span::styled(text, Style::new().add_modifier(Modifier::REVERSED)));
        }
        row(line, coloured)
    });
    frame.render_widget(Paragraph::new(Text::from(rows.collect::<Vec<_>>())), area);
}

fn row(line: Line, coloured: bool) -> Row<'static> {
    let spans = line
        .0
        .into_iter()
        .map(|piece| Span::styled(piece.text, style(piece.tone, coloured)));
    Row::from(spans.collect::<Vec<_>>())
}

fn style(tone: Tone, coloured: bool) -> Style {
    let plain = Style::new();
    match (tone, coloured) {
        (Tone::Plain, _) | (Tone::Faint | Tone::Good | Tone::Moving | Tone::Soaking, false) => plain,
        (Tone::Strong | Tone::Bad, false) | (Tone::Strong, true) => plain.add_modifier(Modifier::BOLD),
        (Tone::Faint, true) => plain.add_modifier(Modifier::DIM),
        (Tone::Good, true) => plain.fg(Color::Green),
        (Tone::Moving, true) => plain.fg(Color::Cyan),
        (Tone::Soaking, true) => plain.fg(Color::Yellow),
        (Tone::Bad, true) => plain.fg(Color::Red),
    }
}

fn rollouts(frame: &mut Frame<'_>, area: Rect, app: &mut Page, coloured: bool, now: Timestamp) {
    app.rows = usize::from(area.height).saturating_sub(1);
    if app.pictures.is_empty() {
        let text = if app.is_there {
            "no rollouts: the hub has no add-on and no cluster upgrade"
        } else {
            "reading the hub …"
        };
        return put(frame, area, &[Line::of(Tone::Faint, text)], coloured, None);
    }
    let first = first_in_sight(app.chosen[0], app.rows);
    let listed = app.listed();
    if listed.is_empty() {
        let text = format!("no rollout matches /{}", app.filter);
        return put(frame, area, &[Line::of(Tone::Faint, text)], coloured, None);
    }
    let shown: Vec<Picture> = listed
        .iter()
        .skip(first)
        .take(app.rows)
        .map(|picture| picture.without_clusters())
        .collect();
    let lines = compact_list(&shown, usize::from(area.width), now);
    let chosen = app.chosen[0].saturating_sub(first).saturating_add(1);
    put(frame, area, &lines, coloured, Some(chosen));
}

/// The first line in sight, so that the chosen one is.
fn first_in_sight(chosen: usize, rows: usize) -> usize {
    let page = rows.max(1);
    chosen.checked_div(page).unwrap_or_default().saturating_mul(page)
}

fn gone(frame: &mut Frame<'_>, area: Rect, app: &Page, coloured: bool) {
    let text = if app.is_there {
        "it was deleted"
    } else {
        "reading the hub …"
    };
    put(frame, area, &[Line::of(Tone::Faint, text)], coloured, None);
}

fn rollout(frame: &mut Frame<'_>, area: Rect, app: &mut Page, coloured: bool, now: Timestamp) {
    let Some(picture) = app.picture().cloned() else {
        return gone(frame, area, app, coloured);
    };
    let width = usize::from(area.width);
    let mut waves = status(&picture, width, now);
    // Clusters have a list of their own below; the waves may have half of the page.
    let most = usize::from(area.height)
        .checked_div(2)
        .unwrap_or_default()
        .clamp(3, MOST_WAVES);
    if waves.len() > most {
        let rows = most.saturating_sub(1);
        let first = app
            .waves
            .unwrap_or_default()
            .min(waves.len().saturating_sub(rows));
        app.waves = app.waves.map(|_| first);
        let last = first.saturating_add(rows);
        let told = match app.waves {
            Some(_) => format!(
                "lines {} to {last} of {} (up, down; v: clusters)",
                first.saturating_add(1),
                waves.len()
            ),
            None => format!("{} more lines (v: scroll)", waves.len().saturating_sub(rows)),
        };
        waves = waves.into_iter().skip(first).take(rows).collect();
        waves.push(Line::of(Tone::Faint, told));
    }
    let height = u16::try_from(waves.len().saturating_add(1)).unwrap_or(u16::MAX);
    let [above, below] = Layout::vertical([Constraint::Length(height), Constraint::Min(1)]).areas(area);
    put(frame, above, &waves, coloured, None);
    app.rows = usize::from(below.height).saturating_sub(1);
    let clusters = app.clusters();
    let first = first_in_sight(app.chosen[1], app.rows);
    let shown: Vec<&ClusterView> = clusters.into_iter().skip(first).take(app.rows).collect();
    let lines = rows(&picture, &shown, width, now);
    let chosen = app.chosen[1].saturating_sub(first).saturating_add(1);
    put(
        frame,
        below,
        &lines,
        coloured,
        Some(chosen).filter(|_| !shown.is_empty() && app.waves.is_none()),
    );
}

/// Draws what one cluster has of every rollout.
fn fleet(frame: &mut Frame<'_>, area: Rect, app: &mut Page, name: &str, coloured: bool, now: Timestamp) {
    let items = app.of_cluster(name);
    let lines = items.lines(usize::from(area.width), now);
    app.rows = usize::from(area.height).saturating_sub(1);
    let chosen = Some(app.chosen[1].saturating_add(1)).filter(|_| !items.items.is_empty());
    put(frame, area, &lines, coloured, chosen);
}

fn text(frame: &mut Frame<'_>, area: Rect, app: &mut Page, coloured: bool) {
    app.rows = usize::from(area.height);
    let lines = match &app.why {
        None => vec![Line::of(Tone::Faint, "reading the hub …")],
        Some(lines) => {
            let broken = lines
                .iter()
                .flat_map(|line| in_page(line, usize::from(area.width)));
            broken.skip(app.scrolled).collect()
        }
    };
    put(frame, area, &lines, coloured, None);
}

fn cluster(frame: &mut Frame<'_>, area: Rect, app: &mut Page, name: &str, coloured: bool, now: Timestamp) {
    let Some(picture) = app.picture().cloned() else {
        return gone(frame, area, app, coloured);
    };
    let width = usize::from(area.width);
    let found: Vec<&ClusterView> = picture
        .clusters
        .iter()
        .filter(|cluster| cluster.name == name)
        .collect();
    let mut lines = rows(&picture, &found, width, now);
    for cluster in found {
        if !cluster.message.is_empty() && cluster.state != ClusterState::Done {
            lines.extend(broken(&Line::plain(cluster.message.clone()), width));
        }
    }
    lines.push(Line::default());
    match &app.why {
        None => lines.push(Line::of(Tone::Faint, "asking why …")),
        Some(why) => {
            let broken = why.iter().flat_map(|line| broken(line, width));
            lines.extend(broken.skip(app.scrolled));
        }
    }
    app.rows = usize::from(area.height).saturating_sub(4);
    put(frame, area, &lines, coloured, None);
}

/// Breaks a line between words where the page ends.
fn broken(line: &Line, width: usize) -> Vec<Line> {
    let tone = line.0.first().map_or(Tone::Plain, |piece| piece.tone);
    let text = folded(&line.text(), width);
    let lines: Vec<Line> = text.lines().map(|text| Line::of(tone, text)).collect();
    if lines.is_empty() {
        vec![Line::default()]
    } else {
        lines
    }
}

/// A line with its colours where it fits, else broken.
fn in_page(line: &Line, width: usize) -> Vec<Line> {
    if line.width() <= width {
        vec![line.clone()]
    } else {
        broken(line, width)
    }
}

fn popup(frame: &mut Frame<'_>, title: &str, lines: &[Line], coloured: bool) {
    let page = frame.area();
    let inside = usize::from(page.width).saturating_sub(2);
    let lines: Vec<Line> = lines.iter().flat_map(|line| in_page(line, inside)).collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or_default().max(30);
    let width = u16::try_from(widest.saturating_add(4))
        .unwrap_or(u16::MAX)
        .min(page.width);
    let height = u16::try_from(lines.len().saturating_add(2))
        .unwrap_or(u16::MAX)
        .min(page.height);
    let half = |all: u16, own: u16| all.saturating_sub(own).checked_div(2).unwrap_or_default();
    let area = Rect {
        x: half(page.width, width),
        y: half(page.height, height),
        width,
        height,
    };
    let block = Block::bordered().title(format!(" {title} "));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    put(frame, inner, &lines, coloured, None);
}
