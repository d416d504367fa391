//! Words of labels: small, fixed, in lower case, with underscores.
//!
//! Decides how a variant becomes the value of a label. What an API writes (kinds, phases of a status, Leases' holders) is reported as the
//! API writes it, and is not defined here.

/// Gives every variant its word, for labels, and lists them all.
macro_rules! words {
    ($of:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $of {
            /// Every variant.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word for labels.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl ::prometheus_client::encoding::EncodeLabelValue for $of {
            fn encode(
                &self,
                encoder: &mut ::prometheus_client::encoding::LabelValueEncoder<'_>,
            ) -> ::std::result::Result<(), ::std::fmt::Error> {
                self.word().encode(encoder)
            }
        }
    };
}

pub(super) use words;

#[cfg(test)]
mod tests {
    use crate::telemetry::{Act, Closed, Decision, Delivery, DryRun, Holder, LeaseOf, SpanEnd, Written};

    #[test]
    fn words_are_lower_case_and_differ() {
        let all: [Vec<&str>; 9] = [
            Act::ALL.iter().map(|one| one.word()).collect(),
            Closed::ALL.iter().map(|one| one.word()).collect(),
            Decision::ALL.iter().map(|one| one.word()).collect(),
            Delivery::ALL.iter().map(|one| one.word()).collect(),
            DryRun::ALL.iter().map(|one| one.word()).collect(),
            Holder::ALL.iter().map(|one| one.word()).collect(),
            LeaseOf::ALL.iter().map(|one| one.word()).collect(),
            SpanEnd::ALL.iter().map(|one| one.word()).collect(),
            Written::ALL.iter().map(|one| one.word()).collect(),
        ];
        for words in all {
            let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            assert!(words.iter().all(is_plain), "{words:?}");
            let mut sorted = words.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), words.len(), "{words:?}");
        }
    }
}
