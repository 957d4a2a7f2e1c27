//! The distributions of a model, prepared for sampling.

use crate::content::Class;
use crate::log_normal::LogNormal;
use crate::model::{Delay, Model};
use crate::units::Nanos;

/// The distributions of a model.
#[derive(Debug, Clone)]
pub(crate) struct Samplers {
    name_delay: Bounded,
    redirect_delay: Bounded,
    server_delay: Bounded,
    content: LogNormal,
}

/// A distribution of microseconds with an upper bound.
#[derive(Debug, Clone)]
struct Bounded {
    micros: LogNormal,
    most: Nanos,
}

impl Bounded {
    fn new(delay: &Delay) -> Self {
        let most = delay.most_ms.map_or(Nanos(u64::MAX), Nanos::from_millis);
        Self {
            micros: LogNormal::new(delay.median_ms * 1_000, delay.sigma.0),
            most,
        }
    }

    fn sample(&self, word: u64) -> Nanos {
        Nanos::from_micros(self.micros.sample(word)).min(self.most)
    }
}

impl Samplers {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            name_delay: Bounded::new(&model.names.delay),
            redirect_delay: Bounded::new(&model.redirects.delay),
            server_delay: Bounded::new(&model.server.delay),
            content: LogNormal::new(model.content.median_bytes, model.content.sigma.0),
        }
    }

    pub(crate) fn content(&self, word: u64, divisor: u64) -> Class {
        Class::nearest(self.content.sample(word) / divisor)
    }

    pub(crate) fn name_delay(&self, word: u64) -> Nanos {
        self.name_delay.sample(word)
    }

    pub(crate) fn redirect_delay(&self, word: u64) -> Nanos {
        self.redirect_delay.sample(word)
    }

    pub(crate) fn server_delay(&self, word: u64) -> Nanos {
        self.server_delay.sample(word)
    }
}
