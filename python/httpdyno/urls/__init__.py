"""Lists of URLs: of a web, of a file, of domains, downloaded."""
