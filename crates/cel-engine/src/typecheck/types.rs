//! Static types, their notation in the tables beside this file, and when a value of one type can be used as another.

use std::collections::BTreeMap;
use std::fmt;

/// The static type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Known only when it is evaluated.
    Dyn,
    /// `bool`, `string`, or a type of Kubernetes such as `kubernetes.Quantity`.
    Named(String),
    /// `list`, `map`, `optional` or `type` of other types.
    Of(&'static str, Vec<Self>),
    /// A type that is not determined yet.
    Open(usize),
}

/// The types that are made of other types, and how messages write them.
const MADE: [(&str, &str); 4] = [
    ("list", "list"),
    ("map", "map"),
    ("optional", "optional_type"),
    ("type", "type"),
];

/// Most open types of one expression.
const MOST_OPEN: usize = 64;
/// Most parts of a type.
const MOST_PARTS: usize = 64;

/// The named types that have no null value.
const NEVER_NULL: [&str; 6] = ["bool", "int", "uint", "double", "string", "bytes"];

impl Type {
    /// Returns a type by its name.
    pub fn named(name: &str) -> Self {
        Self::Named(name.to_owned())
    }

    /// Returns whether it is the type of this name.
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Self::Named(own) if own == name)
    }

    pub(super) fn list(item: Self) -> Self {
        Self::made("list", vec![item])
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::made("map", vec![key, value])
    }

    pub(super) fn optional(value: Self) -> Self {
        Self::made("optional", vec![value])
    }

    /// Returns the optional type of it, or itself if it is optional.
    pub(super) fn into_optional(self) -> Self {
        if matches!(self, Self::Of("optional", _)) {
            self
        } else {
            Self::optional(self)
        }
    }

    /// A type of too many parts counts as `dyn`: variables of variables can double it again and again.
    fn made(name: &'static str, parts: Vec<Self>) -> Self {
        let whole = Self::Of(name, parts);
        if whole.size() > MOST_PARTS {
            Self::Dyn
        } else {
            whole
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Of(_, parts) => 1 + parts.iter().map(Self::size).sum::<usize>(),
            Self::Dyn | Self::Named(_) | Self::Open(_) => 1,
        }
    }

    /// Returns whether a part of it is not determined yet.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Open(_) => true,
            Self::Of(_, parts) => parts.iter().any(Self::is_open),
            Self::Dyn | Self::Named(_) => false,
        }
    }

    /// Parses the notation of the tables. Single capital letters are open types, from `first` on.
    pub(super) fn parse(text: &str, first: usize) -> Self {
        let text = text.trim();
        if let Some((name, inner)) = text.split_once('(')
            && let Some((made, _)) = MADE.iter().find(|(made, _)| *made == name)
        {
            let inner = inner.strip_suffix(')').unwrap_or(inner);
            return Self::Of(made, split(inner).map(|part| Self::parse(part, first)).collect());
        }
        match text.as_bytes() {
            [letter @ b'A'..=b'Z'] => Self::Open(first + usize::from(letter - b'A')),
            _ if text == "dyn" => Self::Dyn,
            _ => Self::named(text),
        }
    }

    /// Returns it with `dyn` for every open type.
    pub(super) fn without_open(&self) -> Self {
        match self {
            Self::Open(_) => Self::Dyn,
            Self::Of(made, parts) => Self::Of(made, parts.iter().map(Self::without_open).collect()),
            Self::Dyn | Self::Named(_) => self.clone(),
        }
    }

    fn is_nullable(&self) -> bool {
        match self {
            Self::Named(name) => !NEVER_NULL.contains(&name.as_str()),
            Self::Of(made, _) => *made == "optional",
            Self::Dyn | Self::Open(_) => true,
        }
    }
}

/// Splits at the commas that are in no brackets; nothing for an empty text.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let parts = text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Open(_) => out.write_str("dyn"),
            Self::Named(name) if name == "null_type" => out.write_str("null"),
            Self::Named(name) => out.write_str(name),
            Self::Of(made, parts) => {
                let name = MADE.iter().find(|(known, _)| known == made);
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(
                    out,
                    "{}({})",
                    name.map_or(*made, |(_, shown)| shown),
                    parts.join(", ")
                )
            }
        }
    }
}

/// What open types stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    known: BTreeMap<usize, Type>,
    next: usize,
}

impl Bindings {
    /// Returns bindings that know nothing, and whose new open types are not those of these.
    pub(super) fn empty(&self) -> Self {
        Self {
            known: BTreeMap::new(),
            next: self.next,
        }
    }

    /// Adds what others know.
    pub(super) fn adopt(&mut self, other: Self) {
        self.known.extend(other.known);
        self.next = self.next.max(other.next);
    }

    /// Returns whether there are so many open types that their relations are not followed anymore: each can refer to all others.
    pub(super) fn is_full(&self) -> bool {
        self.next >= MOST_OPEN
    }

    /// Returns the first of so many new open types.
    pub(super) fn fresh(&mut self, many: usize) -> usize {
        self.next += many;
        self.next - many
    }

    /// Returns a type with the open types replaced by what they stand for.
    pub(super) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Open(number) => self
                .known
                .get(number)
                .map_or_else(|| of.clone(), |found| self.resolve(found)),
            Type::Of(made, parts) => Type::made(made, parts.iter().map(|part| self.resolve(part)).collect()),
            Type::Dyn | Type::Named(_) => of.clone(),
        }
    }

    /// Returns whether a value of one type can be used as the other, and binds open types so that it can.
    pub(super) fn fit(&mut self, one: &Type, other: &Type) -> bool {
        match (one, other) {
            (Type::Open(left), Type::Open(right)) if left == right => true,
            (Type::Open(number), _) => self.bind(*number, other),
            (_, Type::Open(number)) => self.bind(*number, one),
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (null, value) | (value, null) if null.is("null_type") => value.is_nullable(),
            (Type::Of("type", _), Type::Of("type", _)) => true,
            (Type::Of(left, lefts), Type::Of(right, rights)) => {
                left == right && lefts.iter().zip(rights).all(|(one, other)| self.fit(one, other))
            }
            (Type::Named(left), Type::Named(right)) => left == right,
            (Type::Named(_), Type::Of(..)) | (Type::Of(..), Type::Named(_)) => false,
        }
    }

    fn bind(&mut self, number: usize, to: &Type) -> bool {
        if let Some(known) = self.known.get(&number).cloned() {
            if !self.fit(&known, to) {
                return false;
            }
            if !self.is_as_general(&known, to) {
                self.known.insert(number, to.clone());
            }
            return true;
        }
        let to = self.resolve(to);
        if contains(&to, number) {
            return to == Type::Open(number);
        }
        self.known.insert(number, to);
        true
    }

    /// Returns the more general one of two types that fit.
    pub(super) fn general(&self, one: &Type, other: &Type) -> Type {
        let more = if self.is_as_general(one, other) {
            one
        } else {
            other
        };
        more.clone()
    }

    fn is_as_general(&self, one: &Type, other: &Type) -> bool {
        match (self.resolve(one), self.resolve(other)) {
            (Type::Dyn | Type::Open(_), _) => true,
            (_, Type::Dyn | Type::Open(_)) => false,
            (Type::Of(left, lefts), Type::Of(right, rights)) => {
                left == right
                    && lefts
                        .iter()
                        .zip(&rights)
                        .all(|(one, other)| self.is_as_general(one, other))
            }
            // A type that can be null is more general than null.
            (one, other) => !one.is("null_type") || other.is("null_type"),
        }
    }
}

fn contains(whole: &Type, number: usize) -> bool {
    match whole {
        Type::Open(own) => *own == number,
        Type::Of(_, parts) => parts.iter().any(|part| contains(part, number)),
        Type::Dyn | Type::Named(_) => false,
    }
}
