# Fetches the URLs of stdin with http.rb in fibers of async and prints one CSV line a URL.

require "async"
require "async/semaphore"
require "http"
require "json"
require "openssl"
require "time"

require_relative "cause"
require_relative "settings"

URL = %r{\Ahttps?://[^\s/?#]\S*\z}i
REDIRECTS = [301, 302, 303, 307, 308].freeze
MAX_REDIRECTS = 10

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
  warn "ruby-async-http-rb: #{e.message}"
  exit!(127)
end

def crawl(settings)
  options = new_options(settings)
  lines = read_lines
  slots = Async::Semaphore.new(settings.concurrency)
  while (line = lines.pop)
    slots.async(line) { |task, url| print_row(row(task, url, options, settings)) }
  end
end

# The settings that all requests share. http.rb keeps a connection for one host only (HTTP.persistent): with many hosts,
# each request has a connection of its own.
def new_options(settings)
  client = HTTP.use(:auto_inflate).headers("Accept-Encoding" => "gzip, deflate")
  client = client.headers("User-Agent" => settings.user_agent) unless settings.user_agent.empty?
  client.default_options
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
def row(task, line, options, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    # http.rb's own timeout does not bound a lookup, and starts again with each redirect. The error class is http.rb's,
    # because Async 1 handles its own TimeoutError as the end of a wait, and repeats the wait.
    code, body_length = task.with_timeout(settings.request_timeout, HTTP::TimeoutError) do
      fetch(line.strip, options, settings.check_json)
    end
  rescue StandardError => e # any error that a server causes affects only this URL's row
    code = cause_name(e)
    body_length = 0
  end
  duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length)
end

# The final status and the bytes of content after decoding.
def fetch(url, options, check_json)
  return ["InvalidURL", 0] unless URL.match?(url)

  client, response = follow(HTTP::URI.parse(url.force_encoding(Encoding::UTF_8)), options)
  return check(response) if check_json

  [response.code, response.body.sum(&:bytesize)]
ensure
  client&.close
end

# By hand, as http.rb takes a 300 for a redirect too, and fails if it has no Location.
def follow(uri, options)
  (0..MAX_REDIRECTS).each do
    client = HTTP::Client.new(options)
    response = client.get(uri)
    location = response.headers.get("Location").first
    return [client, response] unless REDIRECTS.include?(response.code) && location

    client.close
    uri = response.uri.join(location)
  rescue StandardError
    client&.close
    raise
  end
  raise HTTP::Redirector::TooManyRedirectsError
end

def check(response)
  content = response.body.to_s
  numbers = JSON.parse(content)[0]["numbers"]
  [numbers == 123_123 ? response.code : "CheckFailed", content.bytesize]
rescue JSON::ParserError, NoMethodError, TypeError
  ["CheckFailed", content.bytesize]
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
