//! `ip`, `cidr` and their members.
//!
//! Decides like Kubernetes: IPv4-mapped IPv6 addresses, zones and leading zeros are refused.

use ::cel::common::types::{CelBool, CelInt, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use std::any::Any;
use std::net::IpAddr;

type Result<T> = std::result::Result<T, ExecutionError>;

static IP: Type = Type::simple_type(Kind::Opaque, "net.IP");
static CIDR: Type = Type::simple_type(Kind::Opaque, "net.CIDR");

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip(IpAddr);

/// An address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Ip {
    /// Returns the address in its canonical form.
    pub(crate) fn text(self) -> String {
        self.0.to_string()
    }
}

impl Cidr {
    /// Returns the range as address and prefix length.
    pub(crate) fn text(self) -> String {
        format!("{}/{}", self.address, self.bits)
    }
}

fn parse_ip(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => None,
        IpAddr::V4(_) | IpAddr::V6(_) => Some(address),
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(u32::from(four)),
        IpAddr::V6(six) => u128::from(six),
    }
}

fn parse_cidr(text: &str) -> Option<Cidr> {
    let (address, bits) = text.split_once('/')?;
    let address = parse_ip(address)?;
    let plain = !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let bits: u8 = bits.parse().ok()?;
    (plain && bits <= width(address)).then_some(Cidr { address, bits })
}

/// Returns the part of an address that a prefix of `bits` fixes.
fn prefix(address: IpAddr, bits: u8) -> u128 {
    let rest = u32::from(width(address) - bits);
    number(address).checked_shr(rest).unwrap_or(0)
}

fn covers(range: &Cidr, address: IpAddr, bits: u8) -> bool {
    address.is_ipv4() == range.address.is_ipv4()
        && bits >= range.bits
        && prefix(address, range.bits) == prefix(range.address, range.bits)
}

macro_rules! opaque {
    ($name:ident, $kind:ident) => {
        impl Val for $name {
            fn get_type(&self) -> &Type {
                &$kind
            }

            fn cel_type() -> &'static Type {
                &$kind
            }

            fn equals(&self, other: &dyn Val) -> bool {
                other.downcast_ref::<Self>() == Some(self)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(*self)
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }

        impl StaticVal for $name {}
    };
}

opaque!(Ip, IP);
opaque!(Cidr, CIDR);

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_type(IP.to_owned())?;
    env.add_type(CIDR.to_owned())?;
    add_overload!(env, fn ip: (CelString<'_>) -> Result<Ip>)?;
    add_overload!(env, fn is_ip: (CelString<'_>) -> CelBool, name = "isIP")?;
    add_overload!(env, fn is_canonical: (CelString<'_>) -> Result<CelBool>, name = "ip.isCanonical")?;
    add_overload!(env, fn ip_text: (Ip) -> CelString<'_>, name = "string")?;
    add_member_overload!(env, fn family: (Ip) -> CelInt)?;
    add_member_overload!(env, fn is_unspecified: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_loopback: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_link_local_multicast: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_link_local_unicast: (Ip) -> CelBool)?;
    add_member_overload!(env, fn is_global_unicast: (Ip) -> CelBool)?;
    add_overload!(env, fn cidr: (CelString<'_>) -> Result<Cidr>)?;
    add_overload!(env, fn is_cidr: (CelString<'_>) -> CelBool, name = "isCIDR")?;
    add_overload!(env, fn cidr_text: (Cidr) -> CelString<'_>, name = "string")?;
    add_member_overload!(env, fn contains_ip: (Cidr, Ip) -> CelBool, name = "containsIP")?;
    add_member_overload!(env, fn contains_ip_text: (Cidr, CelString<'_>) -> Result<CelBool>, name = "containsIP")?;
    add_member_overload!(env, fn contains_cidr: (Cidr, Cidr) -> CelBool, name = "containsCIDR")?;
    add_member_overload!(env, fn contains_cidr_text: (Cidr, CelString<'_>) -> Result<CelBool>, name = "containsCIDR")?;
    add_member_overload!(env, fn cidr_ip: (Cidr) -> Ip, name = "ip")?;
    add_member_overload!(env, fn masked: (Cidr) -> Cidr)?;
    add_member_overload!(env, fn prefix_length: (Cidr) -> CelInt)
}

fn ip(text: &CelString<'_>) -> Result<Ip> {
    let wrong = || {
        ExecutionError::function_error(
            "ip",
            format!(
                "IP Address {0} parse error during conversion from string: ParseAddr({0}): {1}",
                kubernetes::print::quote(text.inner()),
                why_no_address(text.inner())
            ),
        )
    };
    parse_ip(text.inner()).map(Ip).ok_or_else(wrong)
}

fn is_ip(text: &CelString<'_>) -> CelBool {
    parse_ip(text.inner()).is_some().into()
}

fn is_canonical(text: &CelString<'_>) -> Result<CelBool> {
    ip(text).map(|Ip(address)| (address.to_string() == text.inner()).into())
}

fn ip_text(this: &Ip) -> CelString<'static> {
    this.text().into()
}

fn family(this: &Ip) -> CelInt {
    CelInt::from(if this.0.is_ipv4() { 4 } else { 6 })
}

fn is_unspecified(this: &Ip) -> CelBool {
    this.0.is_unspecified().into()
}

fn is_loopback(this: &Ip) -> CelBool {
    this.0.is_loopback().into()
}

fn link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(six) => six
            .segments()
            .first()
            .is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six
            .segments()
            .first()
            .is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

fn is_link_local_multicast(this: &Ip) -> CelBool {
    link_local_multicast(this.0).into()
}

fn is_link_local_unicast(this: &Ip) -> CelBool {
    link_local_unicast(this.0).into()
}

fn is_global_unicast(this: &Ip) -> CelBool {
    let broadcast = matches!(this.0, IpAddr::V4(four) if four.is_broadcast());
    let special = this.0.is_unspecified() || this.0.is_loopback() || this.0.is_multicast() || broadcast;
    (!special && !link_local_unicast(this.0)).into()
}

/// Says why a text is no address, in Go's words where they are short.
fn why_no_address(text: &str) -> &'static str {
    match text.find(['.', ':', '%']).and_then(|at| text.get(at..=at)) {
        None => "unable to parse IP",
        Some("%") => "missing IPv6 address",
        Some(_) => "invalid IP address",
    }
}

fn why_no_network(text: &str) -> &'static str {
    if text.contains('/') {
        "invalid network address"
    } else {
        "no '/'"
    }
}

fn cidr(text: &CelString<'_>) -> Result<Cidr> {
    let wrong = || {
        let told = "network address parse error during conversion from string";
        let shown = kubernetes::print::quote(text.inner());
        let why = why_no_network(text.inner());
        let words = format!("{told}: {told}: netip.ParsePrefix({shown}): {why}");
        ExecutionError::function_error("cidr", words)
    };
    parse_cidr(text.inner()).ok_or_else(wrong)
}

fn is_cidr(text: &CelString<'_>) -> CelBool {
    parse_cidr(text.inner()).is_some().into()
}

fn cidr_text(this: &Cidr) -> CelString<'static> {
    this.text().into()
}

fn contains_ip(this: &Cidr, other: &Ip) -> CelBool {
    covers(this, other.0, width(other.0)).into()
}

fn contains_ip_text(this: &Cidr, other: &CelString<'_>) -> Result<CelBool> {
    ip(other).map(|other| contains_ip(this, &other))
}

fn contains_cidr(this: &Cidr, other: &Cidr) -> CelBool {
    covers(this, other.address, other.bits).into()
}

fn contains_cidr_text(this: &Cidr, other: &CelString<'_>) -> Result<CelBool> {
    cidr(other).map(|other| contains_cidr(this, &other))
}

fn cidr_ip(this: &Cidr) -> Ip {
    Ip(this.address)
}

fn masked(this: &Cidr) -> Cidr {
    let rest = u32::from(width(this.address) - this.bits);
    let kept = prefix(this.address, this.bits).checked_shl(rest).unwrap_or(0);
    let address = match this.address {
        IpAddr::V4(_) => IpAddr::from(u32::try_from(kept).unwrap_or(0).to_be_bytes()),
        IpAddr::V6(_) => IpAddr::from(kept.to_be_bytes()),
    };
    Cidr {
        address,
        bits: this.bits,
    }
}

fn prefix_length(this: &Cidr) -> CelInt {
    CelInt::from(i64::from(this.bits))
}
