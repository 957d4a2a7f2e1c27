# Clients of async-http: one for each host that is being visited, or was visited recently.

class Clients
  # A crawl rarely returns to a host.
  IDLE_SECONDS = 1
  PROTOCOLS = {
    nil => {}, # HTTP/2 where TLS negotiates it
    "1.1" => { protocol: Async::HTTP::Protocol::HTTP11 },
    "2" => { protocol: Async::HTTP::Protocol::HTTP2 }
  }.freeze

  Entry = Struct.new(:client, :users, :since)

  def initialize(keepalive:, http_version:)
    @keepalive = keepalive
    @options = PROTOCOLS.fetch(http_version)
    @entries = {}
  end

  # Yields a client and the path of a URI.
  def open(uri)
    endpoint = Async::HTTP::Endpoint.parse(uri.to_s, **@options)
    origin = @keepalive ? [endpoint.scheme, endpoint.hostname, endpoint.port] : Object.new
    entry = @entries[origin] ||= Entry.new(Async::HTTP::Client.new(endpoint), 0)
    entry.users += 1
    # The middleware offers gzip, and decodes it.
    yield Protocol::HTTP::AcceptEncoding.new(entry.client), endpoint.path
  ensure
    release(entry) if entry
  end

  private

  def release(entry)
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    entry.users -= 1
    entry.since = now
    stale = @entries.select { |_, other| other.users.zero? && (!@keepalive || now - other.since > IDLE_SECONDS) }
    stale.each_key { |origin| @entries.delete(origin) }
    stale.each_value { |other| other.client.close }
  end
end
