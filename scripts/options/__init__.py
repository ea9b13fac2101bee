"""The options that several subcommands share, and what they ask for."""
