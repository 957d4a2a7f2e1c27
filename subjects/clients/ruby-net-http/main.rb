# Fetches the URLs of stdin with Net::HTTP and prints one CSV line a URL.

require "json"
require "net/http"
require "openssl"
require "time"
require "timeout"

require_relative "cause"
require_relative "connections"
require_relative "content"
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
  # The waiting thread reports the error that ends a thread.
  Thread.report_on_exception = false
  crawl(settings)
  # Returning would wait for the abandoned lookups.
  exit!(0)
rescue SettingError => e
  warn "ruby-net-http: #{e.message}"
  exit!(127)
end

def crawl(settings)
  connections = Connections.new
  lines = read_lines
  workers = Array.new(settings.concurrency) do
    Thread.new do
      while (line = lines.pop)
        print_row(row(connections, line, settings))
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
def row(connections, line, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    code, body_length = fetch_in_time(connections, line.strip, settings)
  rescue StandardError => e # any error that a server causes affects only this URL's row
    code = cause_name(e)
    body_length = 0
  end
  duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length)
end

# Bounds a whole fetch: Net::HTTP's own timeouts are for each step. It has a thread of its own, as a name lookup
# cannot be interrupted, not even by Timeout.timeout; an abandoned thread ends by itself.
def fetch_in_time(connections, url, settings)
  thread = Thread.new { fetch(connections, url, settings) }
  return thread.value if thread.join(settings.request_timeout)

  thread.kill
  raise Timeout::Error
end

# The final status and the bytes of content after decoding. Redirects by hand: Net::HTTP follows none.
def fetch(connections, url, settings)
  return ["InvalidURL", 0] unless URL.match?(url)

  uri = URI.parse(url)
  method_name = settings.method_name
  body = settings.body
  (0..MAX_REDIRECTS).each do
    status, location, content = answer(connections, new_request(uri, method_name, body, settings), settings)
    return content.judged(status) unless REDIRECTS.include?(status) && location

    uri = URI.join(uri, location)
    # As browsers do.
    becomes_get = status == 303 ? method_name != "HEAD" : status < 303 && method_name == "POST"
    method_name, body = "GET", "" if becomes_get
  end
  raise TooManyRedirects
end

def new_request(uri, method_name, body, settings)
  # Offers gzip and deflate, and decodes them, as Net::HTTP::Get does. An answer to HEAD has no content.
  request = Net::HTTPGenericRequest.new(method_name, !body.empty?, method_name != "HEAD", uri)
  request.body = body unless body.empty?
  request["User-Agent"] = settings.user_agent unless settings.user_agent.empty?
  request["Connection"] = "close" unless settings.keepalive
  request
end

# The status, the target of a redirect, and the content.
def answer(connections, request, settings)
  content = nil
  response = connections.open(request.uri) do |connection|
    connection.request(request) do |head|
      content = Content.new(kept: settings.check_json) # here, as Net::HTTP repeats a request whose connection broke
      expected = head.content_length if request.response_body_permitted? && !head["Content-Encoding"]
      head.read_body { |piece| content << piece }
      # Net::HTTP accepts truncated content as complete.
      raise EOFError, "content cut short" if expected && content.length < expected
    end
  end
  [response.code.to_i, response["Location"], content]
end

main
