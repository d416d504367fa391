//! A small mutator for the smoke run: flips, cuts, repeats, splices, and words of the trade.
//!
//! The same seed makes the same inputs.

/// Words that reach deep.
const WORDS: &[&str] = &[
    "object",
    "oldObject",
    ".spec",
    ".?x",
    "['a']",
    "[?0]",
    ".all(x, x)",
    ".map(i, v, i)",
    ".exists(k, v, k == v)",
    ".matches('(a+)+$')",
    "cel.bind(a, b, a)",
    "optional.of(1)",
    "quantity('1Gi')",
    "semver('1.2.3')",
    "ip('::1')",
    "cidr('10.0.0.0/8')",
    "timestamp('2024-01-01T00:00:00Z')",
    "duration('1h')",
    "JSONPatch{op: 'add'}",
    "Object{a: 1}",
    "lists.range(9)",
    ".sortBy(x, x)",
    ".format([1])",
    "url('http://a/')",
    "variables.spec",
    "1u",
    "-1",
    "1e400",
    "b'\\xff'",
    "\"metadata\":{}",
    "\"spec\":{}",
    "\"maxConcurrency\":\"130%\"",
    "\"minSuccessTime\":\"5m\"",
    "\"configs\":[]",
    "null",
    "{\"op\":\"add\",\"path\":\"/a/-\",\"value\":1}",
    "\"$patch\":\"replace\"",
    "\"$patch\":\"delete\"",
    "\"$setElementOrder/x\":[]",
    "\"managedFields\":[{}]",
    "\"resourceVersion\":\"1\"",
    "\"f:spec\":{\".\":{}}",
    "k:{\\\"port\\\":1}",
    "\n\u{a}A!{\"ports\":[{\"port\":1}]}",
    "/~1~0",
    "\u{202e}",
    "é",
    "\u{0}",
    "9223372036854775808",
    "0.1",
    "5m",
    "1h30m",
    "-5s",
    "µs",
    "25%",
    "None",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "'",
    "\\",
    "\n",
    "- ",
    ": ",
    "&a *a",
    "<<: *a",
    "!!binary",
    "---",
    "\"type\":\"object\"",
    "\"properties\":{}",
    "\"x-kubernetes-validations\":[{\"rule\":\"self.a\"}]",
    "\"x-kubernetes-preserve-unknown-fields\":true",
    "\"default\":{}",
    "\"additionalProperties\":{\"type\":\"string\"}",
];

/// Longest input that is made.
const LONGEST: usize = 16 * 1024;

/// A stream of numbers from a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Starts a stream.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a number below `end`; zero if that is zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if end == 0 {
            0
        } else {
            (self.0 >> 11) as usize % end
        }
    }
}

/// Makes a new input from those of a corpus.
pub fn mutated(corpus: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let pick =
        |dice: &mut Dice| -> Vec<u8> { corpus.get(dice.below(corpus.len())).cloned().unwrap_or_default() };
    let mut bytes = pick(dice);
    for _ in 0..=dice.below(5) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(24)).min(bytes.len());
        match dice.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let times = [1, 2, 8, 64, 400][dice.below(5)];
                bytes.splice(at..at, piece.repeat(times));
            }
            3 | 4 => drop(bytes.splice(at..at, WORDS[dice.below(WORDS.len())].bytes())),
            5 => drop(bytes.splice(at..end, WORDS[dice.below(WORDS.len())].bytes())),
            6 => {
                let other = pick(dice);
                let from = dice.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            7 => {
                let other = pick(dice);
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(48)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => bytes.insert(at, dice.below(256) as u8),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}
