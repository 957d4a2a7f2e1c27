"""Speed against real peers as ratios, each from interleaved rounds on pinned CPUs: what `make ratios` prints."""
