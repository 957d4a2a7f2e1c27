# Idle connections of Net::HTTP, kept for the next URL of their host.

class Connections
  # A crawl rarely returns to a host.
  IDLE_SECONDS = 1

  Idle = Struct.new(:since, :origin, :connection)

  def initialize
    @idle = [] # those that wait longest come first
    @mutex = Mutex.new
  end

  # Yields a connection to the host of a URI. It is kept for the next URL, unless the block fails.
  def open(uri)
    origin = [uri.hostname, uri.port, uri.scheme == "https"]
    connection = take(origin) || connect(*origin)
    answer = yield connection
    give(origin, connection)
    answered = true
    answer
  ensure
    connection&.finish unless answered
  end

  private

  # Net::HTTP's own timeouts keep their defaults: the timeout of the whole URL bounds each of its steps, too.
  def connect(host, port, over_tls)
    Net::HTTP.start(host, port, nil, use_ssl: over_tls)
  end

  def take(origin)
    @mutex.synchronize do
      place = @idle.rindex { |idle| idle.origin == origin }
      @idle.delete_at(place).connection if place
    end
  end

  def give(origin, connection)
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    stale = @mutex.synchronize do
      @idle << Idle.new(now, origin, connection)
      @idle.shift(@idle.index { |idle| now - idle.since < IDLE_SECONDS })
    end
    stale.each { |idle| idle.connection.finish }
  end
end
