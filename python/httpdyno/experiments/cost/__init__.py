"""The cost of 10,000 verified JSON documents."""
