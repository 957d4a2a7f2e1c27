# Fetches the URLs of stdin with em-http-request and prints one CSV line a URL.

require "em-http-request"

require_relative "fetch"
require_relative "settings"

def main
  settings = read_settings(ENV)
  # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
  # See resolv.conf(5); its own default is five seconds for each.
  ENV["RES_OPTIONS"] = "timeout:#{[5, (settings.request_timeout / 2).ceil].min} attempts:2"
  # An open connection is a descriptor, and the usual soft limit is 1024.
  Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
  EventMachine.epoll
  EventMachine.threadpool_size = settings.concurrency # a thread for each name that is looked up
  EventMachine.run { crawl(settings) }
rescue SettingError => e
  warn "ruby-em-http-request: #{e.message}"
  exit!(127)
end

# A thread reads the lines, because stdin may be a file, which EventMachine cannot watch: each when a slot is free.
def crawl(settings)
  slots = Thread::SizedQueue.new(settings.concurrency)
  Thread.new do
    # Bytes are read and written unchanged: a URL is printed as it was read, whatever its encoding.
    $stdin.binmode.each_line("\n") do |line|
      line = line.chomp
      next if line.empty?

      slots << line
      EventMachine.next_tick { start(line, slots, settings) }
    end
    settings.concurrency.times { slots << nil } # when all are free again, all rows are printed
    # Returning would wait for the abandoned lookups.
    exit!(0)
  end
end

# Begins to fetch one URL, and prints its row at the end.
def start(line, slots, settings)
  start_time = Time.now
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  Fetch.new(line.strip, settings) do |code, body_length|
    duration = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000
    print_row(format("%s,%s,%s,%.3f,%d\n", line, code, start_time.iso8601(6), duration, body_length))
    slots.pop
  end
end

def print_row(row)
  $stdout.syswrite(row)
rescue Errno::EPIPE
  exit!(1) # the reader closed the pipe
end

main
