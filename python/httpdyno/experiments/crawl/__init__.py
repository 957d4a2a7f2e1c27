"""The crawl: which client fetches a list of URLs fastest, and how many of them it gets right."""
