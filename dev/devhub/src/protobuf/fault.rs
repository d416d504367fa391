//! What can be wrong with the bytes of a message.
//!
//! Decides the texts, which are those of the decoders that Kubernetes generates.

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes end within a value.
    #[error("unexpected EOF")]
    Truncated,
    /// A number is longer than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length is negative.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A known field has another type on the wire.
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongType {
        /// The type on the wire.
        wire: u8,
        /// Name of the field.
        field: &'static str,
    },
    /// A field has a number that no field can have.
    #[error("proto: {message}: illegal tag {number} (wire type {wire})")]
    IllegalTag {
        /// Name of the message.
        message: &'static str,
        /// The number.
        number: i32,
        /// The type on the wire.
        wire: u8,
    },
    /// A group ends that has not begun.
    #[error("proto: {0}: wiretype end group for non-group")]
    EndOfNoGroup(&'static str),
    /// A group ends within a skipped field that is none.
    #[error("proto: unexpected end of group")]
    UnexpectedEnd,
    /// No such type exists on the wire.
    #[error("proto: illegal wireType {0}")]
    IllegalType(u8),
    /// Messages stand in messages beyond every use.
    #[error("proto: messages are nested more than {0} levels deep")]
    TooDeep(usize),
    /// A time cannot be written.
    #[error("proto: {seconds} seconds and {nanoseconds} nanoseconds are not a time")]
    Time {
        /// Seconds since 1970.
        seconds: i64,
        /// Nanoseconds within the second.
        nanoseconds: i32,
    },
    /// A part that holds JSON holds something else.
    #[error("proto: field {field} does not hold JSON: {cause}")]
    Json {
        /// Name of the field.
        field: &'static str,
        /// What the JSON decoder says.
        cause: String,
    },
    /// The first four bytes are not those of Kubernetes.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// There is nothing at all.
    #[error("empty data")]
    NoData,
    /// There is nothing behind the first four bytes.
    #[error("empty body")]
    EmptyBody,
}
