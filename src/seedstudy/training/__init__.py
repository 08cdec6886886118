"""Training: engine, randomness, precision, exchange, launching."""
