//! The renewal, step by step: a Secret, a clock and callers that are slow, and what must hold at every moment.
//!
//! Decides nothing about how long real certificates hold.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

use super::holding::{
    AUTHORITIES, CERTIFICATE, Data, Flaw, Holding, KEY, NEXT_CERTIFICATE, NEXT_KEY, authorities,
};
use super::step::{Lives, Made, Step, change, next};
use super::validity::Fault;

const NAME: &str = "tidegate.tidegate.svc";
const LIFE: Duration = Duration::from_hours(90 * 24);

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn start() -> Timestamp {
    at("2030-01-01T00:00:00Z")
}

fn after(days: i64) -> Timestamp {
    start() + SignedDuration::from_hours(24 * days)
}

fn lives() -> Lives {
    Lives::of(LIFE)
}

/// A pair as the shell makes it.
fn made_for(name: &str, now: Timestamp) -> Made {
    let date = |time: Timestamp| {
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(time.as_second().unsigned_abs())
    };
    let (begin, end) = (date(Lives::begin(now)), date(lives().end(now)));
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::default();
    authority
        .distinguished_name
        .push(rcgen::DnType::CommonName, "authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    (authority.not_before, authority.not_after) = (begin, end);
    let authority_pem = authority.self_signed(&authority_key).expect("an authority").pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let mut leaf = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    (leaf.not_before, leaf.not_after) = (begin, end);
    Made {
        chain: leaf.signed_by(&key, &issuer).expect("a leaf").pem(),
        key: key.serialize_pem(),
        authority: authority_pem,
    }
}

fn made(now: Timestamp) -> Made {
    made_for(NAME, now)
}

fn decide(data: &Data, trusted: Option<Duration>, now: Timestamp) -> Step {
    next(&Holding::read(data), NAME, lives(), trusted, now)
}

/// Takes one step; returns it.
fn advance(data: &mut Data, trusted: Option<Duration>, now: Timestamp) -> Step {
    let step = decide(data, trusted, now);
    change(data, &step, Some(made(now)), &[], now);
    step
}

const LONG: Option<Duration> = Some(Duration::from_hours(1));

/// A Secret that rests, made at this time.
fn resting(now: Timestamp) -> Data {
    let mut data = Data::new();
    assert!(matches!(advance(&mut data, LONG, now), Step::Prepare { .. }));
    assert_eq!(advance(&mut data, LONG, now), Step::Promote);
    data
}

fn held(data: &Data) -> usize {
    authorities(data.get(AUTHORITIES).map(Vec::as_slice).unwrap_or_default())
        .0
        .len()
}

#[test]
fn an_empty_secret_is_filled_and_then_rests_until_two_thirds_have_passed() {
    let mut data = Data::new();
    let first = advance(&mut data, None, start());
    assert_eq!(
        first,
        Step::Prepare {
            because: Some(Flaw::Absent)
        }
    );
    assert!(
        !data.contains_key(KEY),
        "nothing is served before a client trusts it"
    );
    assert_eq!(decide(&data, None, start()), Step::Wait { at_least: None });
    let wait = decide(&data, Some(Duration::ZERO), start());
    assert_eq!(
        wait,
        Step::Wait {
            at_least: Some(Duration::from_secs(2))
        },
        "no certificate is served meanwhile"
    );
    assert_eq!(
        advance(&mut data, Some(Duration::from_secs(2)), start()),
        Step::Promote
    );
    assert_eq!(decide(&data, LONG, start()), Step::Rest { until: after(60) });
    assert_eq!(data.keys().collect::<Vec<_>>(), [AUTHORITIES, CERTIFICATE, KEY]);
}

#[test]
fn a_rotation_shows_nothing_that_callers_do_not_trust_and_keeps_the_old_authority_to_its_end() {
    let mut data = resting(start());
    let old = data[CERTIFICATE].clone();
    assert_eq!(
        advance(&mut data, LONG, after(60)),
        Step::Prepare { because: None }
    );
    assert_eq!(data[CERTIFICATE], old, "the old one is shown");
    assert_eq!(held(&data), 2, "both are to be trusted");
    let early = decide(&data, Some(Duration::from_secs(59)), after(60));
    assert_eq!(
        early,
        Step::Wait {
            at_least: Some(Duration::from_secs(1))
        }
    );
    assert_eq!(advance(&mut data, LONG, after(60)), Step::Promote);
    assert_ne!(data[CERTIFICATE], old);
    assert_eq!(
        decide(&data, LONG, after(61)),
        Step::Rest { until: after(90) },
        "when the old one ends"
    );
    assert_eq!(decide(&data, LONG, after(90)), Step::Rest { until: after(90) });
    let later = after(90) + SignedDuration::from_secs(1);
    assert_eq!(advance(&mut data, LONG, later), Step::Tidy);
    assert_eq!(held(&data), 1, "its authority goes");
    assert_eq!(decide(&data, LONG, later), Step::Rest { until: after(120) });
}

#[test]
fn callers_who_never_hear_of_the_new_one_are_served_with_the_old_one_to_its_end() {
    let mut data = resting(start());
    advance(&mut data, LONG, after(60));
    assert_eq!(decide(&data, None, after(89)), Step::Wait { at_least: None });
    // Nothing that is shown could be trusted any more: the shorter patience counts.
    assert_eq!(
        decide(&data, Some(Duration::from_secs(2)), after(91)),
        Step::Promote
    );
}

#[test]
fn partial_or_foreign_data_is_reported_and_replaced() {
    let whole = resting(start());
    let other = resting(start());
    let with = |changes: &[(&str, Option<&[u8]>)]| {
        let mut data = whole.clone();
        for (key, value) in changes {
            match value {
                Some(bytes) => data.insert((*key).to_owned(), bytes.to_vec()),
                None => data.remove(*key),
            };
        }
        data
    };
    let foreign = made_for("other.example", start()).chain.into_bytes();
    let elsewhere = Data::from([(CERTIFICATE.to_owned(), foreign), (KEY.to_owned(), Vec::new())]);
    let rows = [
        (with(&[(KEY, None)]), Flaw::NoKey),
        (with(&[(KEY, Some(b""))]), Flaw::NoKey),
        (with(&[(KEY, Some(b"\xff\x00garbage"))]), Flaw::NoKey),
        (with(&[(KEY, Some(&other[KEY]))]), Flaw::Mismatch),
        (with(&[(CERTIFICATE, None)]), Flaw::NoCertificate),
        (with(&[(CERTIFICATE, Some(b"garbage"))]), Flaw::NoCertificate),
        (with(&[(CERTIFICATE, Some(&whole[KEY]))]), Flaw::NoCertificate),
        (
            with(&[(AUTHORITIES, Some(&other[AUTHORITIES]))]),
            Flaw::UnknownAuthority,
        ),
        (with(&[(AUTHORITIES, None)]), Flaw::UnknownAuthority),
        (with(&[(AUTHORITIES, Some(b"\xff"))]), Flaw::UnknownAuthority),
        (elsewhere, Flaw::NoKey),
    ];
    for (mut data, flaw) in rows {
        let step = advance(&mut data, LONG, after(1));
        assert_eq!(
            step,
            Step::Prepare {
                because: Some(flaw.clone())
            },
            "{flaw:?}"
        );
        assert_eq!(advance(&mut data, LONG, after(1)), Step::Promote, "{flaw:?}");
        assert!(
            matches!(decide(&data, LONG, after(1)), Step::Rest { .. } | Step::Tidy),
            "{flaw:?}"
        );
    }
}

#[test]
fn a_pair_that_waits_and_cannot_be_used_is_made_again_when_it_is_needed_and_dropped_when_not() {
    let mut data = resting(start());
    data.insert(NEXT_CERTIFICATE.to_owned(), b"half".to_vec());
    assert_eq!(advance(&mut data, LONG, after(1)), Step::Tidy);
    assert_eq!(data.keys().collect::<Vec<_>>(), [AUTHORITIES, CERTIFICATE, KEY]);
    advance(&mut data, LONG, after(60));
    data.remove(NEXT_KEY);
    assert_eq!(decide(&data, LONG, after(60)), Step::Prepare { because: None });
}

#[test]
fn other_names_and_an_end_are_reasons_of_their_own() {
    let data = resting(start());
    let holding = Holding::read(&data);
    assert_eq!(
        next(&holding, "other.example", lives(), LONG, start()),
        Step::Prepare {
            because: Some(Flaw::OtherNames)
        }
    );
    assert_eq!(
        decide(&data, LONG, after(91)),
        Step::Prepare {
            because: Some(Flaw::OutOfTime(Fault::Ended(after(90))))
        }
    );
}

#[test]
fn a_clock_that_was_ahead_or_is_set_back_ends_with_a_certificate_that_holds() {
    // Made by a clock that was a year ahead: callers do not trust it yet.
    let mut data = resting(after(365));
    let begin = Lives::begin(after(365));
    assert_eq!(
        advance(&mut data, LONG, start()),
        Step::Prepare {
            because: Some(Flaw::OutOfTime(Fault::NotYet(begin)))
        }
    );
    assert_eq!(advance(&mut data, LONG, start()), Step::Promote);
    assert!(matches!(decide(&data, LONG, start()), Step::Rest { .. }));
    // Set back by half an hour: what is there still holds, and nothing happens.
    let data = resting(after(1));
    let back = after(1) - SignedDuration::from_mins(30);
    assert!(matches!(decide(&data, LONG, back), Step::Rest { .. }));
    // Made for a longer life than is asked for now.
    let short = Lives::of(Duration::from_hours(24));
    let holding = Holding::read(&data);
    assert_eq!(
        next(&holding, NAME, short, LONG, after(1)),
        Step::Prepare { because: None }
    );
}

#[test]
fn a_secret_that_was_deleted_takes_over_whom_callers_trusted() {
    let known = resting(start())[AUTHORITIES].clone();
    let mut data = Data::new();
    let step = decide(&data, LONG, after(1));
    change(
        &mut data,
        &step,
        Some(made(after(1))),
        &[known, b"rubbish".to_vec()],
        after(1),
    );
    assert_eq!(held(&data), 2, "replicas may still show what was lost here");
}

#[test]
fn of_two_leaders_the_second_finds_the_work_of_the_first() {
    let mut data = resting(start());
    let seen_by_both = data.clone();
    advance(&mut data, LONG, after(60));
    // The second decided from what was there before; its write names that revision and fails. It reads again:
    let mut second = seen_by_both;
    let step = decide(&second, LONG, after(60));
    change(&mut second, &step, Some(made(after(60))), &[], after(60));
    assert_ne!(second, data, "it would have shown another");
    assert_eq!(decide(&data, LONG, after(60)), Step::Promote);
}

#[test]
fn a_list_of_authorities_does_not_grow_without_end() {
    let mut data = resting(start());
    for hour in 1..20 {
        let now = start() + SignedDuration::from_hours(hour);
        let step = Step::Prepare { because: None };
        change(&mut data, &step, Some(made(now)), &[], now);
        assert!(held(&data) <= 8, "{}", held(&data));
        assert_eq!(
            decide(&data, LONG, now + SignedDuration::from_mins(1)),
            Step::Promote
        );
    }
}

#[test]
fn what_else_is_in_the_secret_stays_and_no_key_is_printed() {
    let mut data = Data::from([("note".to_owned(), b"mine".to_vec())]);
    advance(&mut data, LONG, start());
    advance(&mut data, LONG, start());
    assert_eq!(data["note"], b"mine");
    let told = format!("{:?} {:?}", Holding::read(&data), made(start()));
    assert!(!told.contains("PRIVATE"), "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// In whatever order the key is lost, the list is spoilt and steps are taken: a good pair that is shown is signed by an
    /// authority that the list of that moment has, and after enough steps a good pair is shown.
    #[test]
    fn every_disorder_ends_in_a_good_pair(hours in proptest::collection::vec((-400_i64..2400, 0..5_u8), 1..12)) {
        let mut data = Data::new();
        let mut now = start();
        for (hour, act) in hours {
            now = start() + SignedDuration::from_hours(hour);
            match act {
                0 => { data.remove(KEY); }
                1 => { data.insert(AUTHORITIES.to_owned(), b"?".to_vec()); }
                2 => { advance(&mut data, None, now); }
                _ => { advance(&mut data, LONG, now); }
            }
            if act > 2 && let Ok(shown) = Holding::read(&data).shown && shown.flaw(NAME, now).is_none() {
                prop_assert!(shown.is_signed);
            }
        }
        let mut steps = 0;
        while !matches!(decide(&data, LONG, now), Step::Rest { .. }) {
            advance(&mut data, LONG, now);
            steps += 1;
            prop_assert!(steps < 8, "it comes to rest");
        }
        let shown = Holding::read(&data).shown;
        prop_assert!(shown.is_ok_and(|shown| shown.flaw(NAME, now).is_none()));
    }
}
