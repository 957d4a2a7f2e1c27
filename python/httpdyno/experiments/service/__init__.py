"""The service question: how a server holds up when every request waits for parallel work."""
