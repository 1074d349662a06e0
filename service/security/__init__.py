"""Who may ask: keys and their rate limit, the address to listen on, and the defense against web pages."""
