# Fetches the URLs of stdin with Faraday over async-http and prints one CSV line a URL.

require "async"
require "async/http"
require "async/semaphore"
require "faraday"
require "json"
require "openssl"
require "protocol/http/accept_encoding"
require "protocol/http/body/buffered"
require "time"

require_relative "adapter"
require_relative "cause"
require_relative "clients"
require_relative "content"
require_relative "query"
require_relative "settings"

URL = %r{\Ahttps?://[^\s/?#]\S*\z}i
REDIRECTS = [301, 302, 303, 307, 308].freeze
MAX_REDIRECTS = 10

class TooManyRedirects < StandardError
end

def main
  settings = read_settings(ENV)
  # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
  # See resolv.conf(5); its own default is five seconds for each.
  ENV["RES_OPTIONS"] = "timeout:#{[5, (settings.request_timeout / 2).ceil].min} attempts:2"
  # An open connection is a descriptor, and the usual soft limit is 1024.
  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
  Async { crawl(settings) }
  # Returning would wait for the abandoned lookups.
  exit!(0)
rescue SettingError => e
  warn "ruby-async-http-faraday: #{e.message}"
  exit!(127)
end

def crawl(settings)
  connection = new_connection(settings)
  lines = read_lines
  slots = Async::Semaphore.new(settings.concurrency)
  while (line = lines.pop)
    slots.async(line) { |_, url| print_row(row(connection, url, settings)) }
  end
end

# A queue of the lines that are not empty. A thread fills it, because stdin may be a file, which no fiber can wait for;
# it reads the next line only when one is taken.
def read_lines
  lines = Thread::SizedQueue.new(1)
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

# Fetches one URL: `url,code,start_time,duration,body_length` and a line feed.
def row(connection, line, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    code, body_length = Async::Task.current.with_timeout(settings.request_timeout) do
      fetch(connection, line.strip, settings)
    end
  rescue StandardError => e # any error that a server causes affects only this URL's row
    code = cause_name(e)
    body_length = 0
  end
  duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length)
end

# The final status and the bytes of content after decoding. Redirects by hand: Faraday follows none.
def fetch(connection, url, settings)
  return ["InvalidURL", 0] unless URL.match?(url)

  uri = URI.parse(url)
  (0..MAX_REDIRECTS).each do
    status, location, content = get(connection, uri, settings)
    return content.judged(status) unless REDIRECTS.include?(status) && location

    uri = URI.join(uri, location)
  end
  raise TooManyRedirects
end

def get(connection, uri, settings)
  response = connection.get(uri)
  content = Content.new(kept: settings.check_json)
  content << response.body
  [response.status, response.headers["Location"], content]
end

# One Faraday connection for all requests, without a base URL.
def new_connection(settings)
  Faraday.new(request: { params_encoder: VerbatimQuery }) do |faraday|
    faraday.headers["User-Agent"] = settings.user_agent unless settings.user_agent.empty?
    faraday.adapter AsyncHTTPAdapter, keepalive: settings.keepalive, http_version: settings.http_version
  end
end

# Ruby calls the scheduler of its fibers to look up a name. Async has this hook since version 2; without it, a slow
# lookup blocks every fiber.
class Async::Scheduler
  def address_resolve(host)
    Thread.new do
      Thread.current.report_on_exception = false
      Addrinfo.getaddrinfo(host, nil, nil, :STREAM).map(&:ip_address)
    end.value
  end
end

main
