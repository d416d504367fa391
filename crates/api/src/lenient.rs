//! Decides how forgiving the readers are: `null` and a missing spec read as the empty value.
//!
//! Never repairs a wrong type: that is an error of the one object that carries it.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default value, as Kubernetes' own clients do.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Tells schemars that a required field has no default, although the reader forgives its absence.
pub(crate) fn no_default<T>(_: &T) -> bool {
    true
}

/// Implements serde for a spec so that an object without it still decodes.
///
/// Most schemas here do not require a spec, but the root types of `kube` do. Serde offers a missing field to types that
/// ask for an option; `#[serde(remote = "Self")]` leaves the two traits free for that.
macro_rules! absent_is_default {
    ($spec:ty) => {
        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Absent;
                impl<'de> serde::de::Visitor<'de> for Absent {
                    type Value = $spec;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object of type ", stringify!($spec)))
                    }

                    fn visit_none<E>(self) -> Result<Self::Value, E> {
                        Ok(<$spec>::default())
                    }

                    fn visit_unit<E>(self) -> Result<Self::Value, E> {
                        Ok(<$spec>::default())
                    }

                    fn visit_some<D: serde::Deserializer<'de>>(
                        self,
                        inner: D,
                    ) -> Result<Self::Value, D::Error> {
                        <$spec>::deserialize(inner)
                    }
                }
                deserializer.deserialize_option(Absent)
            }
        }

        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$spec>::serialize(self, serializer)
            }
        }
    };
}

pub(crate) use absent_is_default;
