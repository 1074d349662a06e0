"""Authentication and protection: keys, rate limits, the address to listen on, and checks of Host and Origin."""
