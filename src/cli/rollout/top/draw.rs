//! How the page looks.
//!
//! Decides layout and colours. Draws only what is in sight, so that ten thousand clusters cost no more than ten.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Row, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use kubernetes::field::counted;

use insight::cockpit::{
    ClusterState, ClusterView, Line, Page, Picture, Question, Tone, View, list, rows, status,
};

/// The largest part of the page that the waves may have, in lines.
const MOST_WAVES: usize = 14;
const KEYS: [(&str, &str); 13] = [
    ("up, down, j, k", "select"),
    ("PgUp, PgDn, g, G", "page up, page down, first, last"),
    ("Enter, right, l", "open"),
    ("Esc, left, h", "back"),
    ("w", "why the cluster is not ready"),
    ("p", "pause: no further cluster starts"),
    ("r", "resume"),
    ("m", "promote: soaking clusters count as completed"),
    ("a", "approve: waiting decision groups may start"),
    ("u", "undo: roll back to the last known good configuration"),
    (
        "t",
        "retry: failed clusters of an upgrade, or a change that was rolled back",
    ),
    ("?", "show or hide the keys"),
    ("q", "quit"),
];

/// Draws the page; notes how many lines of a list fit.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut Page, coloured: bool, now: Timestamp) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    put(frame, head, &[title(app)], coloured, None);
    match app.place.clone() {
        View::Rollouts => rollouts(frame, body, app, coloured, now),
        View::Rollout(_) => rollout(frame, body, app, coloured, now),
        View::Cluster(_, name) => cluster(frame, body, app, &name, coloured, now),
    }
    put(frame, foot, &[footer(app)], coloured, None);
    if app.shows_keys {
        let lines: Vec<Line> = KEYS
            .iter()
            .map(|(key, what)| Line::of(Tone::Strong, format!("{key:18}")).and(Tone::Plain, *what))
            .collect();
        popup(frame, "keys", &lines, coloured);
    }
    if let Some(question) = &app.question {
        popup(frame, question.verb.word(), &asked(question), coloured);
    }
}

fn asked(question: &Question) -> Vec<Line> {
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

fn title(app: &Page) -> Line {
    let line = Line::of(Tone::Strong, "tidegate");
    match &app.place {
        View::Rollouts => line.and(
            Tone::Plain,
            format!("  {}", counted(app.pictures.len(), "rollout")),
        ),
        View::Rollout(target) => line.and(Tone::Faint, " > ").and(Tone::Plain, target.told()),
        View::Cluster(target, name) => line
            .and(Tone::Faint, " > ")
            .and(Tone::Plain, target.told())
            .and(Tone::Faint, " > ")
            .and(Tone::Plain, name.clone()),
    }
}

fn footer(app: &Page) -> Line {
    if let Some(said) = &app.said {
        return said.clone();
    }
    let text = match &app.place {
        View::Rollouts => {
            "Enter open   p pause   r resume   m promote   a approve   u undo   t retry   ? keys   q quit"
        }
        View::Rollout(_) => {
            "Enter why   p pause   r resume   m promote   a approve   u undo   t retry   Esc back   ? keys"
        }
        View::Cluster(..) => "w refresh   up, down scroll   Esc back   q quit",
    };
    Line::of(Tone::Faint, text)
}

/// Draws lines, one of them marked as chosen.
fn put(frame: &mut Frame<'_>, area: Rect, lines: &[Line], coloured: bool, chosen: Option<usize>) {
    let width = usize::from(area.width);
    let rows = lines.iter().enumerate().map(|(at, line)| {
        let row = row(line.clone().cut(width), coloured);
        if chosen == Some(at) {
            let row = row.patch_style(Style::new().add_modifier(Modifier::REVERSED));
            // The mark goes over the whole line.
            let rest = width.saturating_sub(line.width());
            let mut spans = row.spans;
            spans.push(Span::styled(
                " ".repeat(rest),
                Style::new().add_modifier(Modifier::REVERSED),
            ));
            return Row::from(spans).style(Style::new().add_modifier(Modifier::REVERSED));
        }
        row
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
    let shown: Vec<Picture> = app
        .pictures
        .iter()
        .skip(first)
        .take(app.rows)
        .map(|picture| Picture::clone(&without_clusters(picture)))
        .collect();
    let lines = list(&shown, usize::from(area.width), now);
    let chosen = app.chosen[0].saturating_sub(first).saturating_add(1);
    put(frame, area, &lines, coloured, Some(chosen));
}

/// A list needs no clusters, and there may be thousands.
fn without_clusters(picture: &Picture) -> Picture {
    Picture {
        api_version: picture.api_version,
        kind: picture.kind,
        at: picture.at,
        target: picture.target.clone(),
        phase: picture.phase,
        message: picture.message.clone(),
        health: picture.health.clone(),
        counts: picture.counts,
        paused: None,
        approvals: Vec::new(),
        next: picture.next.clone(),
        eta: None,
        eta_unknown: None,
        undone: Vec::new(),
        changes: Vec::new(),
        waves: picture.waves.clone(),
        clusters: Vec::new(),
        notices: Vec::new(),
    }
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
        waves.truncate(most.saturating_sub(1));
        waves.push(Line::of(Tone::Faint, "…"));
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
        Some(chosen).filter(|_| !shown.is_empty()),
    );
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
            lines.push(Line::plain(cluster.message.clone()));
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

/// Breaks a line where the page ends; what goes on is set in.
fn broken(line: &Line, width: usize) -> Vec<Line> {
    const INSET: &str = "      ";
    let mut letters = line.text().chars().collect::<Vec<char>>().into_iter().peekable();
    let tone = line.0.first().map_or(Tone::Plain, |piece| piece.tone);
    let mut lines = Vec::new();
    while letters.peek().is_some() || lines.is_empty() {
        let inset = if lines.is_empty() { "" } else { INSET };
        let columns = width.saturating_sub(inset.len()).max(1);
        let piece: String = letters.by_ref().take(columns).collect();
        lines.push(Line::of(tone, format!("{inset}{piece}")));
    }
    lines
}

fn popup(frame: &mut Frame<'_>, title: &str, lines: &[Line], coloured: bool) {
    let page = frame.area();
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
    put(frame, inner, lines, coloured, None);
}
