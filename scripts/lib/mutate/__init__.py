"""Parts of scripts/mutate; see there."""
