"""httpdyno measures HTTP clients, load tools and servers, and says how sure it is."""

__version__ = "0.1.0"
