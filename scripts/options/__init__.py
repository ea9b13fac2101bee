"""Options that several subcommands share, and the objects that they describe."""
