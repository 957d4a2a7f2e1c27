"""What 10,000 verified JSON documents cost."""
