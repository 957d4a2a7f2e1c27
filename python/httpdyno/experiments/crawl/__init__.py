"""The crawl: which client fetches a list of URLs fastest, and how many results are right."""
