# Performs the transfers of all fibers by one Curl::Multi.

# Curl::Easy#perform blocks the thread, and all fibers with it: curb does not use the scheduler of fibers.
class Driver
  # How long, in milliseconds, curb waits for its connections before the other fibers run.
  LISTEN_MILLISECONDS = 5

  def initialize
    Curl::Multi.default_timeout = LISTEN_MILLISECONDS
    @multi = Curl::Multi.new
    @work = Async::Notification.new
    Async(transient: true) { |task| drive(task) }
  end

  # Lets the calling fiber wait for a transfer. Raises the errors of Curl::Easy#perform.
  def perform(easy)
    done = Async::Notification.new
    easy.on_complete { done.signal }
    @multi.add(easy)
    @work.signal
    done.wait
    return if easy.last_result.zero?

    error, message = Curl::Easy.error(easy.last_result)
    raise error, message
  end

  private

  def drive(task)
    loop do
      @work.wait if @multi.idle?
      @multi.perform { task.yield }
    end
  end
end
