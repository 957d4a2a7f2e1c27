# Fetches the URLs of stdin with Faraday over Typhoeus' Hydra and prints one CSV line a URL.

require "faraday"
require "json"
require "time"
require "typhoeus"
require "typhoeus/adapters/faraday"

require_relative "cause"
require_relative "content"
require_relative "feed"
require_relative "query"
require_relative "settings"

URL = %r{\Ahttps?://[^\s/?#]\S*\z}i
MAX_REDIRECTS = 10

def main
  settings = read_settings(ENV)
  # libcurl waits for an abandoned lookup. So the system resolver's two attempts share the time of a request. See
  # resolv.conf(5); its own default is five seconds for each.
  ENV["RES_OPTIONS"] = "timeout:#{[5, (settings.request_timeout / 2).ceil].min} attempts:2"
  # An open connection is a descriptor, and the usual soft limit is 1024.
  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
  crawl(settings)
  exit!(0) # nothing is left to wait for
rescue SettingError => e
  warn "ruby-faraday-typhoeus: #{e.message}"
  exit!(127)
end

def crawl(settings)
  connection = new_connection(settings)
  lines = read_lines(settings.concurrency)
  hydra = Typhoeus::Hydra.new(max_concurrency: settings.concurrency)
  feed = Feed.new(hydra, lines, settings.concurrency) { |line| start(connection, line, settings) }
  connection.in_parallel(hydra) { feed.run }
end

# One Faraday connection for all requests, without a base URL. libcurl follows redirects, and its timeout bounds all of
# a fetch.
def new_connection(settings)
  options = {
    followlocation: true,
    maxredirs: MAX_REDIRECTS,
    timeout_ms: (settings.request_timeout * 1000).ceil, # Faraday's own timeout would be rounded down, to none at all
    accept_encoding: "", # all codings that this libcurl decodes
    forbid_reuse: !settings.keepalive
  }
  options[:http_version] = :httpv1_1 if settings.http_version == "1.1"
  Faraday.new(request: { params_encoder: VerbatimQuery }) do |faraday|
    faraday.headers["User-Agent"] = settings.user_agent unless settings.user_agent.empty?
    faraday.adapter :typhoeus, options
  end
end

# A queue of the lines that are not empty. The thread that fills it reads at most as many as there are slots.
def read_lines(slots)
  lines = Thread::SizedQueue.new(slots)
  Thread.new do
    # Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    $stdin.binmode.each_line("\n") do |line|
      line = line.chomp
      lines << line unless line.empty?
    end
    lines.close
  end
  lines
end

def print_row(row)
  $stdout.syswrite(row)
rescue Errno::EPIPE
  exit!(1) # the reader closed the pipe
end

# Begins to fetch one URL, and prints its row at the end.
def start(connection, line, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  fetch(connection, line.strip, settings) do |code, body_length|
    duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
    print_row(format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length))
  end
end

# Yields the final status and the bytes of content after decoding.
def fetch(connection, url, settings)
  return yield "InvalidURL", 0 unless URL.match?(url)

  connection.get(url).on_complete do |answer|
    yield(*error_name(answer)&.then { |name| [name, 0] } || judged(answer, settings))
  end
  connection.parallel_manager.dequeue
rescue URI::InvalidURIError => e
  yield e.class.name.gsub("::", "."), 0
end

def judged(answer, settings)
  content = Content.new(kept: settings.check_json)
  content << answer.body
  content.judged(answer.status)
end

main
