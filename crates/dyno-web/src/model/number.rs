//! Shares and standard deviations of a model, stored as integers.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::draw::BILLION;

/// A share of 1, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share(pub u64);

/// A standard deviation of a logarithm, times 65,536.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sigma(pub u32);

impl Share {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(crate) const fn is_none(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl Serialize for Sigma {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Billionths { most: 1 })
            .map(Share)
    }
}

impl<'de> Deserialize<'de> for Sigma {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let billionths = deserializer.deserialize_any(Billionths { most: 3 })?;
        Ok(Self(
            u32::try_from(billionths * 65_536 / BILLION).expect("at most 3 * 65,536"),
        ))
    }
}

/// Parses a number from 0 to `most`, whole or not, as billionths.
struct Billionths {
    most: u32,
}

impl Visitor<'_> for Billionths {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a number from 0 to {}", self.most)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
        if !(0.0..=f64::from(self.most)).contains(&value) {
            return Err(E::custom(format!(
                "{value}: expected a number from 0 to {}",
                self.most
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 3e9, checked above"
        )]
        let billionths = (value * 1e9 + 0.5) as u64;
        Ok(billionths)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        match u32::try_from(value) {
            Ok(whole) if whole <= self.most => Ok(u64::from(whole) * BILLION),
            _ => Err(E::custom(format!(
                "{value}: expected a number from 0 to {}",
                self.most
            ))),
        }
    }
}
