//! The renewal of the gate's certificate, a step at a time.
//!
//! ```text
//!           due, or what is shown cannot be trusted           every API server has the new bundle
//!   resting ───────────────── Prepare ───────────────▶ waiting ───────────── Promote ─────────────▶ resting
//! ```
//!
//! Decides what a Secret should hold next, by what it holds, who is trusted, and the time. What is shown changes only after
//! callers trust its successor; an authority leaves when nothing that it signed holds any more, because it ends with it. Every
//! pair has an authority of its own, whose key is not kept. A leader that begins with a half-done step goes on where it ended.
//! Never makes a pair: it is handed in.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};

use super::holding::{
    AUTHORITIES, Authority, CERTIFICATE, Data, Flaw, Holding, KEY, NEXT_CERTIFICATE, NEXT_KEY, Pair,
};

/// Certificates count from so long ago, for callers whose clock is behind.
const SLACK: SignedDuration = SignedDuration::from_hours(1);
/// More authorities than this are no rotation but a fault: the ones that end first leave.
const MOST_AUTHORITIES: usize = 8;

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lives {
    /// How long a certificate holds; it is renewed when a third of that is left.
    pub life: Duration,
    /// How long a bundle takes to every API server of a hub.
    pub propagation: Duration,
    /// The same where nothing that callers could trust is shown meanwhile: every second counts.
    pub urgent: Duration,
}

impl Lives {
    /// The lengths for certificates that hold this long.
    pub fn of(life: Duration) -> Self {
        let propagation = Duration::from_mins(1).min(life / 12);
        Self {
            life,
            propagation,
            urgent: propagation.min(Duration::from_secs(2)),
        }
    }

    fn life(self) -> SignedDuration {
        SignedDuration::try_from(self.life).unwrap_or(SignedDuration::MAX)
    }

    /// When a certificate begins that is made now.
    pub fn begin(now: Timestamp) -> Timestamp {
        now.checked_sub(SLACK).unwrap_or(Timestamp::MIN)
    }

    /// When a certificate ends that is made now.
    pub fn end(self, now: Timestamp) -> Timestamp {
        now.checked_add(self.life()).unwrap_or(Timestamp::MAX)
    }

    /// When something that ends then is renewed.
    fn due(self, end: Timestamp) -> Timestamp {
        end.checked_sub(self.life() / 3).unwrap_or(Timestamp::MIN)
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing until then.
    Rest {
        /// When something is due.
        until: Timestamp,
    },
    /// A new pair is put beside the one that is shown, and its authority among those whom callers are to trust.
    Prepare {
        /// Why callers could not trust what is shown; absent where they could, and it is renewed all the same.
        because: Option<Flaw>,
    },
    /// Callers have yet to trust the pair that waits.
    Wait {
        /// For how long at least, where that is known.
        at_least: Option<Duration>,
    },
    /// The pair that waits takes the place of the one that is shown.
    Promote,
    /// What is of no use any more is left out.
    Tidy,
}

/// Returns the next step for what is shown to callers who use `name`. `trusted` is how long every API server has had the
/// authorities that are held; absent while one has not got them, or while that is not known.
pub fn next(holding: &Holding, name: &str, lives: Lives, trusted: Option<Duration>, now: Timestamp) -> Step {
    let shown = good(&holding.shown, name, now);
    let waiting = good(&holding.next, name, now)
        .ok()
        .filter(|waiting| shown.as_ref().map_or(true, |shown| outlasts(waiting, shown)));
    match (shown, waiting) {
        (shown, Some(_)) => {
            let patience = if shown.is_ok() {
                lives.propagation
            } else {
                lives.urgent
            };
            match trusted {
                Some(since) if since >= patience => Step::Promote,
                Some(_) | None => Step::Wait {
                    at_least: trusted.map(|since| patience.saturating_sub(since)),
                },
            }
        }
        (Err(flaw), None) => Step::Prepare { because: Some(flaw) },
        (Ok(shown), None) => {
            let end = shown.validity.not_after;
            // What ends later than anything that is made now was made by another clock, or for another length of life.
            let odd = lives.end(now).checked_add(SLACK).unwrap_or(Timestamp::MAX);
            if now >= lives.due(end) || end > odd {
                return Step::Prepare { because: None };
            }
            let is_untidy = !matches!(holding.next, Err(Flaw::Absent))
                || holding.has_rubbish
                || kept(&holding.authorities, now).count() < holding.authorities.len();
            if is_untidy {
                return Step::Tidy;
            }
            let ends = holding
                .authorities
                .iter()
                .map(|authority| authority.validity.not_after);
            Step::Rest {
                until: ends.chain([lives.due(end)]).min().unwrap_or(now),
            }
        }
    }
}

fn good<'h>(pair: &'h Result<Pair, Flaw>, name: &str, now: Timestamp) -> Result<&'h Pair, Flaw> {
    let pair = pair.as_ref().map_err(Clone::clone)?;
    pair.flaw(name, now).map_or(Ok(pair), Err)
}

fn outlasts(waiting: &Pair, shown: &Pair) -> bool {
    waiting.validity.not_after > shown.validity.not_after || waiting.validity.names != shown.validity.names
}

/// Those that hold now or later: a clock that was wrong may be right again.
fn kept(authorities: &[Authority], now: Timestamp) -> impl Iterator<Item = &Authority> {
    authorities
        .iter()
        .filter(move |authority| authority.validity.not_after >= now)
}

/// A pair that was made, and the authority that it was made with, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Made {
    /// The certificate.
    pub chain: String,
    /// Its private key.
    pub key: String,
    /// The authority.
    pub authority: String,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Made")
    }
}

/// Takes a step: changes what the Secret holds. `made` is for [`Step::Prepare`], which does nothing without it; `known` are
/// authorities that callers trusted before, for a Secret that has lost all of its own.
pub fn change(data: &mut Data, step: &Step, made: Option<Made>, known: &[Vec<u8>], now: Timestamp) {
    let holding = Holding::read(data);
    match step {
        Step::Rest { .. } | Step::Wait { .. } => {}
        Step::Prepare { .. } => {
            let Some(made) = made else { return };
            let mut authorities: Vec<Authority> = kept(&holding.authorities, now).cloned().collect();
            if authorities.is_empty() {
                let known = known.iter().flat_map(|pem| super::holding::authorities(pem).0);
                authorities = known.collect();
                authorities = kept(&authorities, now).cloned().collect();
            }
            authorities.sort_by_key(|authority| authority.validity.not_after);
            authorities.dedup();
            let surplus = (authorities.len() + 1).saturating_sub(MOST_AUTHORITIES);
            let mut pem = listed(authorities.iter().skip(surplus));
            pem.push_str(&made.authority);
            data.insert(AUTHORITIES.to_owned(), pem.into_bytes());
            data.insert(NEXT_CERTIFICATE.to_owned(), made.chain.into_bytes());
            data.insert(NEXT_KEY.to_owned(), made.key.into_bytes());
        }
        Step::Promote => {
            for (from, to) in [(NEXT_CERTIFICATE, CERTIFICATE), (NEXT_KEY, KEY)] {
                if let Some(bytes) = data.remove(from) {
                    data.insert(to.to_owned(), bytes);
                }
            }
        }
        Step::Tidy => {
            data.remove(NEXT_CERTIFICATE);
            data.remove(NEXT_KEY);
            let pem = listed(kept(&holding.authorities, now));
            data.insert(AUTHORITIES.to_owned(), pem.into_bytes());
        }
    }
}

fn listed<'a>(authorities: impl Iterator<Item = &'a Authority>) -> String {
    authorities.map(|authority| pem(&authority.der)).collect()
}

/// A certificate in PEM.
fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for (at, letter) in text.chars().enumerate() {
        if at > 0 && at % 64 == 0 {
            pem.push('\n');
        }
        pem.push(letter);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
    pem
}
