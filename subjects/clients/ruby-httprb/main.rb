# Fetches the URLs of stdin with http.rb and prints one CSV line a URL.

require "http"
require "json"
require "openssl"
require "time"
require "timeout"

require_relative "cause"
require_relative "content"
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
  # The waiting thread reports the error that ends a thread.
  Thread.report_on_exception = false
  crawl(settings)
  # Returning would wait for the abandoned lookups.
  exit!(0)
rescue SettingError => e
  warn "ruby-httprb: #{e.message}"
  exit!(127)
end

def crawl(settings)
  options = new_options(settings)
  lines = read_lines
  workers = Array.new(settings.concurrency) do
    Thread.new do
      while (line = lines.pop)
        print_row(row(options, line, settings))
      end
    end
  end
  workers.each(&:join)
end

# A queue of the lines that are not empty. It holds one: the thread that fills it reads the next line when one is taken.
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
def row(options, line, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    code, body_length = fetch_in_time(options, line.strip, settings)
  rescue StandardError => e # any error that a server causes affects only this URL's row
    code = cause_name(e)
    body_length = 0
  end
  duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length)
end

# Bounds a whole fetch: http.rb's own timeout does not bound a lookup. It has a thread of its own, as a name lookup
# cannot be interrupted, not even by Timeout.timeout; an abandoned thread ends by itself.
def fetch_in_time(options, url, settings)
  thread = Thread.new { fetch(options, url, settings) }
  return thread.value if thread.join(settings.request_timeout)

  thread.kill
  raise Timeout::Error
end

# The final status and the bytes of content after decoding.
def fetch(options, url, settings)
  return ["InvalidURL", 0] unless URL.match?(url)

  uri = HTTP::URI.parse(url)
  (0..MAX_REDIRECTS).each do
    response, content = get(options, uri, settings)
    location = response.headers.get("Location").first
    # By hand, as http.rb takes a 300 for a redirect too, and fails if it has no Location.
    return content.judged(response.code) unless REDIRECTS.include?(response.code) && location

    uri = uri.join(location)
  end
  raise HTTP::Redirector::TooManyRedirectsError
end

def get(options, uri, settings)
  client = HTTP::Client.new(options)
  response = client.get(uri)
  content = Content.new(kept: settings.check_json)
  response.body.each { |piece| content << piece }
  [response, content]
ensure
  client&.close
end

# The settings that all requests share. http.rb keeps a connection for one host only (HTTP.persistent): with many hosts,
# each request has a connection of its own.
def new_options(settings)
  client = HTTP.use(:auto_inflate).headers("Accept-Encoding" => "gzip, deflate")
  client = client.headers("User-Agent" => settings.user_agent) unless settings.user_agent.empty?
  client.default_options
end

main
