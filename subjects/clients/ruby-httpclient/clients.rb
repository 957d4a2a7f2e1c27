# The current client.

# One HTTPClient serves all threads, as its documentation says, but it keeps a list of connections, even an empty
# one, for every host it has used: after this number of requests another client replaces it.
class Clients
  REQUESTS_PER_CLIENT = 1000
  # A crawl rarely returns to a host.
  IDLE_SECONDS = 1

  def initialize
    @client = new_client
    @requests = 0
    @mutex = Mutex.new
  end

  def current
    @mutex.synchronize do
      @requests += 1
      replace if (@requests % REQUESTS_PER_CLIENT).zero?
      @client
    end
  end

  private

  def replace
    @client.reset_all # closes idle connections; the others end their requests
    @client = new_client
  end

  def new_client
    client = HTTPClient.new
    client.transparent_gzip_decompression = true # offers gzip and deflate
    client.keep_alive_timeout = IDLE_SECONDS
    client.cookie_manager = nil # a crawl returns no cookies, and need not keep them
    client
  end
end
