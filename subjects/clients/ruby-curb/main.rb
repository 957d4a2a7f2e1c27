# Fetches the URLs of stdin with curb and prints one CSV line a URL.

require "curb"
require "json"
require "time"

require_relative "cause"
require_relative "content"
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
  warn "ruby-curb: #{e.message}"
  exit!(127)
end

def crawl(settings)
  lines = read_lines
  workers = Array.new(settings.concurrency) do
    Thread.new do
      easy = new_easy(settings)
      while (line = lines.pop)
        print_row(row(easy, line, settings))
      end
    end
  end
  workers.each(&:join)
end

# A handle for each thread, reused for each URL: it keeps a few connections. libcurl follows redirects, and its
# timeout bounds all of a fetch.
def new_easy(settings)
  Curl::Easy.new do |easy|
    easy.nosignal = true # libcurl's manual: where there are threads
    easy.timeout_ms = (settings.request_timeout * 1000).ceil
    easy.follow_location = true
    easy.max_redirects = MAX_REDIRECTS
    easy.encoding = "" # all codings that this libcurl decodes
    easy.useragent = settings.user_agent unless settings.user_agent.empty?
    easy.version = Curl::HTTP_1_1 if settings.http_version == "1.1"
    easy.set(:forbid_reuse, 1) unless settings.keepalive
  end
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
def row(easy, line, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    code, body_length = fetch(easy, line.strip, settings)
  rescue StandardError => e # any error that a server causes affects only this URL's row
    code = cause_name(e)
    body_length = 0
  end
  duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
  format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length)
end

# The final status and the bytes of content after decoding.
def fetch(easy, url, settings)
  return ["InvalidURL", 0] unless URL.match?(url)

  content = Content.new(kept: settings.check_json)
  easy.on_body do |piece|
    content << piece
    piece.bytesize
  end
  easy.url = url
  easy.perform
  content.judged(easy.response_code)
end

main
