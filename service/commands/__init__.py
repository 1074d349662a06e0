"""The subcommands of `melm`. Each module adds its parser by `add`, and imports what it needs when it runs."""
